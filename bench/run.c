/*
 * bench_run: how long one simulated run takes, per subject.
 *
 * A two-rank mesh starts, sums 1024 float32, and is taken down: the work of
 * one execution of fuzz_init, without libFuzzer and in whatever build this is.
 * Prints "name value unit" lines; ratios are to legacy-2026-08-22.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sim/run.h"

#define ROUNDS 2000

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double measure(const struct sim_subject *subject,
                      const struct scn *scenario)
{
    static struct sim_result result;
    struct sim_options options = {.subject = subject};
    struct scn_error error;
    double start;
    for (int i = 0; i < 50; i++) /* touch the pages */
        sim_run(scenario, &options, &result, &error);
    start = seconds();
    for (int i = 0; i < ROUNDS; i++)
        sim_run(scenario, &options, &result, &error);
    if (result.outcome != SCN_READY)
        fprintf(stderr, "%s: %s\n", subject->name, result.title);
    return (seconds() - start) / ROUNDS * 1e6;
}

int main(void)
{
    static const char text[] = "run init\nrun all_sum float32 1024\n";
    static struct scn scenario;
    struct scn_error error;
    double base;
    if (scn_parse(&scenario, text, sizeof text - 1, &error) != 0)
        return 1;
    base = measure(sim_subject_by_name("legacy-2026-08-22"), &scenario);
    for (int i = 0; sim_subject_at(i); i++) {
        double time = measure(sim_subject_at(i), &scenario);
        printf("run_%s %.1f us\n", sim_subject_at(i)->name, time);
        printf("run_%s_ratio %.2f x\n", sim_subject_at(i)->name, time / base);
    }
    sim_shutdown();
    return 0;
}
