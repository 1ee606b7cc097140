/*
 * The least there is to a group, in C: every rank gives its number and gets the
 * sum of all.
 *
 * With JACCL's variables in the environment (`verbfault run -n 3 all_sum_c`
 * sets them, or mlx.launch) this process is one rank of several, without them
 * it is alone.
 */
#include <cjaccl/cjaccl.h>

#include <stdio.h>

/* Alone where the environment tells nothing: a group of one. */
static int configure(struct cj_settings *settings, struct cj_error *error)
{
    int status = cj_settings_from_env(settings, error);

    if (status != CJ_NO_CONFIGURATION)
        return status;
    settings->config.rank = 0;
    settings->config.size = 1;
    return CJ_OK;
}

int main(void)
{
    struct cj_settings settings;
    struct cj_group *group = NULL;
    struct cj_error error;
    float number;
    float sum;
    int status = configure(&settings, &error);

    if (status == CJ_OK)
        status = cj_init(&settings.config, &group, &error);
    if (status == CJ_OK) {
        number = (float)(cj_rank(group) + 1);
        status = cj_all_sum(group, &number, &sum, 1, CJ_FLOAT32, &error);
    }
    /* error.message is all that a user has to read. */
    if (status == CJ_OK)
        (void)printf("rank %d of %d: the sum is %g\n", cj_rank(group),
                     cj_size(group), (double)sum);
    else
        (void)fprintf(stderr, "%s\n", error.message);
    (void)cj_finalize(group, NULL);
    cj_settings_free(&settings);
    return status == CJ_OK ? 0 : 1;
}
