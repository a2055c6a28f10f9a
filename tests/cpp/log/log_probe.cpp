// Logs as its arguments say, one action each: "error:text", "level:1", "root:/tmp/x", "fork", …
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "pypto/log/log.h"

namespace {

using pypto::log::Level;
namespace plog = pypto::log;

void Say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

void LimitFileSize(const std::string& bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlim_t limit = std::strtoull(bytes.c_str(), nullptr, 10);
  const rlimit both = {limit, limit};
  setrlimit(RLIMIT_FSIZE, &both);
}

void Fork(const std::string& text) {
  const pid_t child = fork();
  if (child == 0) {
    PYPTO_LOG(kError, "%s", text.c_str());
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  Say("child " + std::to_string(child) + " status " + std::to_string(status));
}

// Forks while other threads log without a pause: the child must be able to log.
void ForkUnderLoad(const std::string& count) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&stop] {
      while (!stop.load()) PYPTO_LOG(kError, "load");
    });
  }
  for (int i = 0; i < std::atoi(count.c_str()); ++i) Fork("under load");
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

void Threads(const std::string& count) {
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(count.c_str()); ++i) {
    threads.emplace_back([i] {
      for (int k = 0; k < 200; ++k) PYPTO_LOG(kError, "thread %d record %d end", i, k);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void Batch(const std::string& count) {
  plog::RecordBatch batch;
  for (int i = 0; i < std::atoi(count.c_str()); ++i) PYPTO_LOG_TO(batch, kError, "batch %d", i);
  Say("size " + std::to_string(batch.size()));
}

void Evaluated(const std::string&) {
  int count = 0;
  PYPTO_LOG(kDebug, "%d", ++count);
  Say("evaluated " + std::to_string(count));
}

void Many(const std::string& count) {
  const std::string text(900, 'x');
  for (int i = 0; i < std::atoi(count.c_str()); ++i) PYPTO_LOG(kError, "%06d%s", i, text.c_str());
}

void ChangeFolder(const std::string& path) {
  if (chdir(path.c_str()) != 0) std::abort();
}

const std::map<std::string, void (*)(const std::string&)> kActions = {
    {"debug", [](const std::string& text) { PYPTO_LOG(kDebug, "%s", text.c_str()); }},
    {"info", [](const std::string& text) { PYPTO_LOG(kInfo, "%s", text.c_str()); }},
    {"warning", [](const std::string& text) { PYPTO_LOG(kWarning, "%s", text.c_str()); }},
    {"error", [](const std::string& text) { PYPTO_LOG(kError, "%s", text.c_str()); }},
    {"always", [](const std::string& text) { plog::Write(Level::kInfo, "mark.cc", 7, "%s", text.c_str()); }},
    {"app", [](const std::string& text) { plog::WriteAs("APP", Level::kWarning, nullptr, 0, text); }},
    {"level", [](const std::string& n) { plog::SetLevel(static_cast<Level>(std::atoi(n.c_str()))); }},
    {"reset-level", [](const std::string&) { plog::ResetLevel(); }},
    {"print-level", [](const std::string&) { Say("level " + std::to_string(static_cast<int>(plog::GetLevel()))); }},
    {"print-level-of",
     [](const std::string& module) {
       Say(module + " " + std::to_string(static_cast<int>(plog::EnvironmentLevelOf(module))));
     }},
    {"root", [](const std::string& path) { plog::SetLogRoot(path); }},
    {"stdout", [](const std::string& on) { plog::SetPrintToStdout(on == "1"); }},
    {"stderr-sink", [](const std::string&) { plog::AddSink(plog::MakeStderrSink(Level::kError)); }},
    {"file", [](const std::string&) { Say("file " + plog::CurrentLogFile()); }},
    {"chdir", ChangeFolder},
    {"fsize", LimitFileSize},
    {"fork", Fork},
    {"fork-under-load", ForkUnderLoad},
    {"threads", Threads},
    {"batch", Batch},
    {"evaluated", Evaluated},
    {"many", Many},
};

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t colon = argument.find(':');
    const auto action = kActions.find(argument.substr(0, colon));
    if (action == kActions.end()) return 2;
    action->second(colon == std::string::npos ? std::string() : argument.substr(colon + 1));
  }
  return 0;
}
