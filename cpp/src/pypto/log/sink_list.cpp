// Adding, removing and calling sinks.
#include "pypto/log/sink_list.h"

#include <algorithm>
#include <utility>

#include "pypto/base/process.h"

namespace pypto::log {

constinit thread_local const SinkList::Entry* SinkList::current_ = nullptr;

uint64_t SinkList::Add(std::shared_ptr<Sink> sink) {
  if (sink == nullptr) return 0;
  auto entry = std::make_shared<Entry>();
  entry->sink = std::move(sink);
  entry->generation = base::ProcessGeneration();
  const std::lock_guard lock(mutex_);
  entry->id = next_id_++;
  auto entries = std::make_shared<Entries>(*entries_);
  entries->push_back(entry);
  entries_ = std::move(entries);
  count_.store(entries_->size(), std::memory_order_relaxed);
  return entry->id;
}

bool SinkList::Remove(uint64_t id) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    auto entries = std::make_shared<Entries>(*entries_);
    const auto it = std::find_if(entries->begin(), entries->end(), [id](const auto& e) { return e->id == id; });
    if (it == entries->end()) return false;
    entry = *it;
    entries->erase(it);
    entries_ = std::move(entries);
    count_.store(entries_->size(), std::memory_order_relaxed);
  }
  entry->removed.store(true);
  if (current_ == entry.get() || entry->generation != base::ProcessGeneration()) return true;
  for (uint32_t active = entry->active.load(); active != 0; active = entry->active.load()) entry->active.wait(active);
  return true;
}

void SinkList::Call(Entry& entry, std::span<const RecordView> records) noexcept {
  entry.active.fetch_add(1);
  if (!entry.removed.load()) {
    current_ = &entry;
    for (const RecordView& record : records) {
      if (record.level >= entry.sink->lowest()) entry.sink->Write(record);
    }
    current_ = nullptr;
  }
  entry.active.fetch_sub(1);
  if (entry.removed.load()) entry.active.notify_all();
}

void SinkList::Dispatch(std::span<const RecordView> records) noexcept {
  if (empty() || current_ != nullptr) return;
  std::shared_ptr<const Entries> entries;
  {
    const std::lock_guard lock(mutex_);
    entries = entries_;
  }
  for (const auto& entry : *entries) Call(*entry, records);
}

}  // namespace pypto::log
