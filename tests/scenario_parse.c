/* What the parser takes, and what it says of what it does not take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/scenario.h"

static struct scn scenario;

static int parse(const char *text, struct scn_error *error)
{
    return scn_parse(&scenario, text, strlen(text), error);
}

static void fields_are_what_the_words_say(void **state)
{
    struct scn_error error;
    (void)state;
    assert_int_equal(parse("ranks 3 mesh\n"
                           "fault 2 poll_cq 7+ return -1\n"
                           "peer 1 sends 01000000 ff 0A\n"
                           "cell * 0 1 rdma_en9 \"\"\n"
                           "device 0 a max_mr=5 used_mr=4 port=down ipv4=no\n"
                           "run init\n"
                           "run all_sum bfloat16 4194304 # all of it\n"
                           "coordinator 2 [::1]:9000\n"
                           "setting * fallback sockets\n"
                           "run sum_scatter complex64 524288 in-place\n"
                           "run send bool 7 2 0",
                           &error),
                     0);
    const struct scn_statement *s = scenario.statements;
    assert_int_equal(scenario.count, 11);
    assert_int_equal(s[0].u.ranks.count, 3);
    assert_int_equal(s[1].rank, 2);
    assert_int_equal(s[1].u.fault.verb, VF_VERB_poll_cq);
    assert_int_equal(s[1].u.fault.nth, 7);
    assert_true(s[1].u.fault.onward);
    assert_int_equal(s[1].u.fault.value, -1);
    assert_int_equal(s[2].u.peer.count, 6);
    assert_int_equal(s[2].u.peer.bytes[5], 0x0a);
    assert_int_equal(s[3].rank, SCN_ALL);
    assert_int_equal(s[3].u.cell.count, 2);
    assert_string_equal(s[3].u.cell.names[1], "");
    assert_int_equal(s[4].u.device.max_mr, 5);
    assert_int_equal(s[4].u.device.max_qp, -1);
    assert_true(s[4].u.device.port_down && s[4].u.device.no_ipv4);
    assert_int_equal(s[6].u.run.count, 4194304);
    assert_int_equal(s[6].comment_length, 10);
    assert_memory_equal(s[6].comment, " all of it", 10);
    assert_string_equal(s[7].u.text.word, "[::1]:9000");
    assert_int_equal(s[7].line, 8);
    assert_int_equal(s[7].column, 1);
    assert_int_equal(s[8].rank, SCN_ALL);
    assert_int_equal(s[8].u.setting.what, SCN_SETTING_FALLBACK);
    assert_int_equal(s[8].u.setting.value, 1);
    assert_int_equal(s[9].u.run.operation, SCN_SUM_SCATTER);
    assert_int_equal(s[9].u.run.count, 524288);
    assert_true(s[9].u.run.in_place && !s[6].u.run.in_place);
    assert_int_equal(s[10].u.run.operation, SCN_SEND);
    assert_int_equal(s[10].u.run.from, 2);
    assert_int_equal(s[10].u.run.to, 0);
}

static void line_ends_and_spaces_do_not_matter(void **state)
{
    struct scn_error error;
    (void)state;
    assert_int_equal(parse("ranks 2 mesh\r\n\r\n \t run\tinit#x\r\n", &error),
                     0);
    assert_int_equal(scenario.count, 3);
    assert_int_equal(scenario.statements[1].kind, SCN_COMMENT);
    assert_null(scenario.statements[1].comment);
    assert_int_equal(scenario.statements[2].column, 4);
    assert_int_equal(parse("", &error), 0);
    assert_int_equal(parse("# caf\xc3\xa9", &error), 0);
}

/* The first error of a text. */
static const struct golden {
    const char *text;
    int line, column;
    const char *message;
} errors[] = {
    {"fualt 0 reg_mr 1 null EIO", 1, 1,
     "unknown statement \"fualt\"; did you mean fault?"},
    {"run init\n  fault 0 regmr 1 null EIO", 2, 11,
     "unknown verb \"regmr\"; did you mean reg_mr?"},
    {"fault 0 reg_mr 1 nul EIO", 1, 18,
     "unknown effect \"nul\"; did you mean null?"},
    {"profile thunderbold", 1, 9,
     "unknown profile \"thunderbold\"; did you mean thunderbolt?"},
    {"profile zebra", 1, 9,
     "unknown profile \"zebra\"; one of thunderbolt, rxe, ideal"},
    {"run init\nrun all_sum flot32 1", 2, 13,
     "unknown type \"flot32\"; did you mean float32?"},
    {"expect cjaccl eror", 1, 15,
     "unknown outcome \"eror\"; did you mean error?"},
    {"fault 0 reg_mr 1 null ENOMEN", 1, 23,
     "unknown errno \"ENOMEN\"; did you mean ENOMEM?"},
    {"fault 0 completion 1 status LOC_LEN_ER", 1, 29,
     "unknown status \"LOC_LEN_ER\"; did you mean LOC_LEN_ERR?"},
    {"fault 0 reg_mr 1 drop", 1, 18,
     "drop does not fit reg_mr; one of null, unplug, exit, hang does"},
    {"fault 0 reg_mr 1 null", 1, 22, "null needs an errno, such as ENOMEM"},
    {"fault 0 reg_mr 1 exit 3", 1, 23, "exit has no value"},
    {"fault 0 reg_mr 0 exit", 1, 16,
     "call number out of range: from 1 to 100000"},
    {"fault 0 reg_mr 100001 exit", 1, 16,
     "call number out of range: from 1 to 100000"},
    {"fault 0 reg_mr 99999999999999999999 exit", 1, 16,
     "call number out of range: from 1 to 100000"},
    {"fault 0 reg_mr 1x exit", 1, 16, "expected a number, not \"1x\""},
    {"fault * reg_mr 1 exit", 1, 7, "one rank is needed here, not *"},
    {"fault 2 reg_mr 1 exit", 1, 7, "rank 2 does not exist; there are 2 ranks"},
    {"fault 9 reg_mr 1 exit", 1, 7, "rank out of range: from 0 to 7"},
    {"fault -1 reg_mr 1 exit", 1, 7, "a rank is not negative"},
    {"fault 0 reg_mr", 1, 15,
     "something is missing: fault RANK VERB NTH[+] EFFECT [VALUE]"},
    {"stray dog", 1, 7, "too many words: stray"},
    {"ranks 9 mesh", 1, 7, "number of ranks out of range: from 1 to 8"},
    {"ranks 1 ring", 1, 7, "number of ranks out of range: from 2 to 8"},
    {"ranks 2 mesh 2", 1, 14, "a mesh has no number of wires"},
    {"ranks 2 ring 5", 1, 14, "wires out of range: from 1 to 4"},
    {"ranks 2 mesh\nranks 2 mesh", 2, 1,
     "only one statement of this kind is possible (line 1)"},
    {"order 0\n\norder 4294967296", 3, 7,
     "expected a seed from 0 to 4294967295"},
    {"order 1 2", 1, 9, "nothing comes behind a seed"},
    {"order bytes", 1, 7, "expected bytes behind `bytes`"},
    {"order bytes 0a f", 1, 16, "a byte has two hexadecimal digits"},
    {"order bytes 0a0g", 1, 16, "not a hexadecimal digit"},
    {"order bytes 00\norder 0", 2, 1,
     "only one statement of this kind is possible (line 1)"},
    {"run init\nrun all_sum int8 4194305", 2, 18,
     "count out of range: from 0 to 4194304"},
    {"run barrier", 1, 5, "there is no group; `run init` makes one"},
    {"run init\nrun finalize\nrun barrier", 3, 5,
     "there is no group; `run init` makes one"},
    {"run init 1", 1, 10, "nothing comes behind init"},
    {"run barrier int8 4 0 1", 1, 13, "nothing comes behind barrier"},
    {"run all_sum int8", 1, 17, "expected run all_sum TYPE COUNT"},
    {"run init\nrun all_max int8 4 inplace", 2, 20,
     "expected in-place, or nothing"},
    {"run init\nrun all_max int8 4 in-place in-place", 2, 29,
     "nothing comes behind in-place"},
    {"run init\nrun all_gather int8 524289", 2, 21,
     "count out of range: from 0 to 524288"},
    {"run all_gathr int8 1", 1, 5,
     "unknown operation \"all_gathr\"; did you mean all_gather?"},
    {"run init\nrun send int8 4 0", 2, 18,
     "expected run send TYPE COUNT FROM TO"},
    {"run init\nrun send int8 4 0 *", 2, 19, "one rank is needed here, not *"},
    {"run init\nrun send int8 4 8 0", 2, 17, "rank out of range: from 0 to 7"},
    {"setting * fallbck sockets", 1, 11,
     "unknown setting \"fallbck\"; did you mean fallback?"},
    {"setting 0 backend tcp", 1, 19,
     "unknown backend \"tcp\"; one of rdma, sockets"},
    {"setting 0 topology", 1, 19,
     "something is missing: setting VIEW topology|backend|fallback VALUE"},
    {"late 0 0", 1, 8, "milliseconds out of range: from 1 to 3600000"},
    {"late * 5", 1, 6, "one rank is needed here, not *"},
    {"late 1 5\nlate 1 6", 2, 6, "this rank is late already (line 1)"},
    {"setting 2 topology ring", 1, 9,
     "rank 2 does not exist; there are 2 ranks"},
    {"setting 0 backend rdma\nsetting 0 backend rdma", 2, 11,
     "this setting of this view is given already (line 1)"},
    {"peer 1 sends\nsetting 1 backend rdma", 2, 9,
     "this rank is a hostile peer and runs nothing (line 1)"},
    {"device 0 a prt=down", 1, 12, "unknown key \"prt\"; did you mean port?"},
    {"device 0 a port=low", 1, 12, "expected down or up"},
    {"device 0 a max_mr=1000001", 1, 12, "out of range: from 0 to 1000000"},
    {"device 0 a max_mr=1 max_mr=1", 1, 21, "this key is given already"},
    {"device 0 a max_mr=1 used_mr=2", 1, 12, "used_mr=2 is more than max_mr=1"},
    {"device 0 used_mr=2", 1, 10,
     "a name is letters, digits, \"_\", \".\" and \"-\""},
    {"device 0 abcdefghijklmnopqrstuvwxyz012345", 1, 10,
     "longer than 31 characters"},
    {"device 0 a\ndevice * a", 2, 10,
     "this rank has a device of that name already (line 1)"},
    {"nodevices 0\ndevice * a", 2, 8, "this rank has no devices (line 1)"},
    {"cable 0:a 1:rdma_en2", 1, 7, "rank 0 has no device a"},
    {"device 1 b\ncable 0:rdma_en2 1:rdma_en2", 2, 18,
     "rank 1 has no device rdma_en2"},
    {"cable 0:rdma_en2", 1, 17,
     "something is missing: cable RANK:NAME RANK:NAME"},
    {"cable rdma_en2 1:rdma_en2", 1, 7, "expected RANK:NAME"},
    {"device 0 a\ncable 0:a 0:a", 2, 11,
     "a cable joins two devices, not one to itself"},
    {"ranks 3 mesh\ncable 0:rdma_en2 1:rdma_en2\n"
     "cable 2:rdma_en2 0:rdma_en2",
     3, 18, "this device has a cable already (line 2)"},
    {"cell * 2 0 a", 1, 8,
     "no such cell; the device file has 2 rows and columns"},
    {"rows 1 3\ncell 0 0 2", 2, 10,
     "no such cell; the device file has 2 rows and columns"},
    {"cell 0 0 1 a\ncell 0 0 1 b", 2, 6, "this cell is given already (line 1)"},
    {"cell 0 0 1 a b c d e f", 1, 22,
     "too many words: cell VIEW ROW COLUMN [NAME...]"},
    {"fault 0 reg_mr 1 exit\nfault 0 reg_mr 1+ hang", 2, 16,
     "this call has a fault already (line 1)"},
    {"fault 0 reg_mr 1+ exit\nfault 0 reg_mr 3 hang", 2, 16,
     "never happens: an earlier fault decides from before on (line 1)"},
    {"channel 0 close 4\nchannel 0 garble 4", 2, 9,
     "the channel ends before the byte to invert (line 1)"},
    {"channel 0 shut 4", 1, 11,
     "unknown channel fault \"shut\"; one of close, silent, garble"},
    {"peer 0 sends 1", 1, 14, "a byte has two hexadecimal digits"},
    {"peer 0 sends 00 0g", 1, 18, "not a hexadecimal digit"},
    {"peer 0 says 00", 1, 8, "expected `sends`"},
    {"peer 1 sends\nfault 1 reg_mr 1 exit", 2, 7,
     "this rank is a hostile peer and runs nothing (line 1)"},
    {"peer 0 sends\npeer 1 sends", 2, 6,
     "every rank is a hostile peer; nobody runs"},
    {"library 0 missing", 1, 11,
     "unknown library state \"missing\"; one of absent, without"},
    {"library 0 without", 1, 18, "which symbol? One is ibv_reg_mr"},
    {"library 0 without reg_mr", 1, 19,
     "no symbol of the library; one is ibv_reg_mr"},
    {"library * absent\nfault 0 reg_mr 1 exit", 2, 7,
     "never happens: this rank has no library to call (line 1)"},
    {"expect Cj crash", 1, 8,
     "a subject is small letters, digits, \".\" and \"-\""},
    {"expect a crash\nexpect a hang", 2, 8,
     "this subject is expected to do something already (line 1)"},
    {"expect a ready \"x\"", 1, 16, "ready has no title"},
    {"expect a crash x", 1, 16, "a title is in quotes and not empty"},
    {"expect a crash \"x", 1, 16, "the closing quote is missing"},
    {"expect a cr\"x", 1, 12, "a quote inside of a word"},
    {"expect a crash \"x\"y", 1, 19, "a space is missing behind the quote"},
    {"profile \"rxe\"", 1, 9, "no quotes here"},
    {"run\x01init", 1, 4, "not text: byte 0x01"},
    {"run in\xc3t", 1, 7, "not text: byte 0xc3"},
    {"run init # \x7f", 1, 12, "not text: byte 0x7f"},
    {"run init\rrun init", 1, 9, "not text: byte 0x0d"},
};

static void an_error_names_line_column_and_remedy(void **state)
{
    int wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        struct scn_error error = {0, 0, "none"};
        if (parse(errors[i].text, &error) == -1 &&
            strcmp(error.message, errors[i].message) == 0 &&
            error.line == errors[i].line && error.column == errors[i].column)
            continue;
        print_error("%s\n  gives %d:%d %s\n", errors[i].text, error.line,
                    error.column, error.message);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

static void a_zero_byte_is_not_text(void **state)
{
    struct scn_error error;
    (void)state;
    assert_int_equal(scn_parse(&scenario, "run init\n\0", 10, &error), -1);
    assert_int_equal(error.line, 2);
    assert_int_equal(error.column, 1);
    assert_string_equal(error.message, "not text: byte 0x00");
}

static void too_much_is_refused(void **state)
{
    struct scn_error error;
    char *text = malloc(SCN_TEXT_MAX + 1);
    (void)state;
    memset(text, 'a', SCN_TEXT_MAX + 1);
    assert_int_equal(scn_parse(&scenario, text, SCN_TEXT_MAX, &error), -1);
    assert_int_equal(error.column, 513);
    assert_string_equal(error.message, "line longer than 512 characters");
    assert_int_equal(scn_parse(&scenario, text, SCN_TEXT_MAX + 1, &error), -1);
    memset(text, '\n', SCN_TEXT_MAX);
    assert_int_equal(scn_parse(&scenario, text, 256, &error), 0);
    assert_int_equal(scn_parse(&scenario, text, 257, &error), -1);
    assert_int_equal(error.line, 257);
    /* Its devices, cells and cables need room as well. */
    strcpy(text, "ranks 8 mesh\n");
    for (int i = 0; i < 164; i++)
        strcat(text, "stray\n");
    assert_int_equal(parse(text, &error), 0);
    strcat(text, "# a comment needs none\n");
    assert_int_equal(parse(text, &error), 0);
    strcat(text, "stray\n");
    assert_int_equal(parse(text, &error), -1);
    assert_int_equal(error.line, 167);
    strcpy(text, "order bytes ");
    for (int i = 0; i < SCN_ORDER_MAX; i++)
        strcat(text, "1f");
    assert_int_equal(parse(text, &error), 0);
    strcat(text, "1f");
    assert_int_equal(parse(text, &error), -1);
    assert_string_equal(error.message, "an order has at most 128 bytes");
    free(text);
}

static void a_comment_behind_a_statement_leaves_room_for_it(void **state)
{
    struct scn_error error;
    char line[SCN_LINE_MAX] = "run init #";
    (void)state;
    memset(line + 10, 'c', SCN_REMARK_MAX + 1);
    assert_int_equal(scn_parse(&scenario, line, 10 + SCN_REMARK_MAX, &error),
                     0);
    assert_int_equal(scn_parse(&scenario, line, 11 + SCN_REMARK_MAX, &error),
                     -1);
    assert_int_equal(error.column, 10);
}

static void a_file_is_read_or_explained(void **state)
{
    struct scn_error error;
    char *text = "";
    (void)state;
    assert_int_equal(scn_load(&scenario, "no/such/file.scn", &text, &error),
                     -1);
    assert_null(text);
    assert_int_equal(error.line, 0);
    assert_int_equal(scn_load(&scenario, ".", &text, &error), -1);
    assert_int_equal(error.line, 0);
    FILE *file = fopen("scenario_parse.scn", "wb");
    assert_non_null(file);
    fputs("run init # first\n", file);
    fclose(file);
    assert_int_equal(scn_load(&scenario, "scenario_parse.scn", &text, &error),
                     0);
    assert_int_equal(scenario.count, 1);
    assert_memory_equal(scenario.statements[0].comment, " first", 6);
    free(text);
    remove("scenario_parse.scn");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_what_the_words_say),
        cmocka_unit_test(line_ends_and_spaces_do_not_matter),
        cmocka_unit_test(an_error_names_line_column_and_remedy),
        cmocka_unit_test(a_zero_byte_is_not_text),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(a_comment_behind_a_statement_leaves_room_for_it),
        cmocka_unit_test(a_file_is_read_or_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
