// What several cores of this machine do at once: every thread, bound to a core, does the same work on memory of its own
// and all begin together. Compiled for the processor at hand.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "peaks.c"

enum { kCopy, kRead, kFloats, kInt8 };

typedef struct {
  int core, kind, rounds;
  size_t bytes;
  int threads;
  atomic_int* arrived;
  double *begin, *end;  // of every round, in nanoseconds
} Job;

static double Now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static void* Work(void* context) {
  Job* job = context;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(job->core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
  char* from = aligned_alloc(4096, job->bytes);
  char* to = aligned_alloc(4096, job->bytes);
  memset(from, 1, job->bytes);
  memset(to, 1, job->bytes);
  float sink[16] = {0};
  for (int round = 0; round < job->rounds; ++round) {
    atomic_fetch_add(job->arrived, 1);
    while (atomic_load(job->arrived) < (round + 1) * job->threads) __builtin_ia32_pause();
    job->begin[round] = Now();
    if (job->kind == kCopy) memcpy(to, from, job->bytes);
    if (job->kind == kRead) read_all(from, job->bytes, sink);
    if (job->kind == kFloats) peak_fp32((long)job->bytes / 16, sink);
    if (job->kind == kInt8) peak_int8((long)job->bytes / 16, sink);
    job->end[round] = Now();
    __asm__ volatile("" ::"r"(to), "r"(sink) : "memory");
  }
  free(from);
  free(to);
  return NULL;
}

// Nanoseconds of the fastest round: from the first thread's begin to the last one's end. `kind`: 0 copies `bytes`, a
// multiple of 4096, 1 reads them, 2 and 3 multiply FP32 and INT8 in registers.
double at_once(const int* cores, int threads, int kind, size_t bytes, int rounds) {
  atomic_int arrived = 0;
  Job jobs[64];
  pthread_t handles[64];
  double* times = malloc(sizeof(double) * 2 * (size_t)threads * (size_t)rounds);
  for (int i = 0; i < threads; ++i) {
    double* begin = times + 2 * (size_t)i * (size_t)rounds;
    jobs[i] = (Job){cores[i], kind, rounds, bytes, threads, &arrived, begin, begin + rounds};
    pthread_create(&handles[i], NULL, Work, &jobs[i]);
  }
  for (int i = 0; i < threads; ++i) pthread_join(handles[i], NULL);
  double best = 1e18;
  for (int round = 0; round < rounds; ++round) {
    double begin = 1e18, end = 0;
    for (int i = 0; i < threads; ++i) {
      if (jobs[i].begin[round] < begin) begin = jobs[i].begin[round];
      if (jobs[i].end[round] > end) end = jobs[i].end[round];
    }
    if (end - begin < best) best = end - begin;
  }
  free(times);
  return best;
}
