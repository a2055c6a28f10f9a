// The way of a call through the layers.
#include "pypto/acl/layer_chain.h"

#include <utility>

namespace pypto::acl {
namespace {

// Set while this thread runs a layer: calls that a layer causes (a log sink that calls aclAppLog) skip all layers.
thread_local bool inside_layer = false;

class InsideScope {
 public:
  InsideScope() { inside_layer = true; }
  ~InsideScope() { inside_layer = false; }
  InsideScope(const InsideScope&) = delete;
  InsideScope& operator=(const InsideScope&) = delete;
};

}  // namespace

void LayerChain::Add(std::unique_ptr<Layer> layer) { layers_.push_back(std::move(layer)); }

size_t LayerChain::Enter(Call& call) {
  if (inside_layer) return 0;
  const InsideScope scope;
  call.number_ = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
  size_t entered = 0;
  for (const auto& layer : layers_) {
    if (const auto code = layer->Before(call); code.has_value()) {
      call.answered_ = true;
      call.code_ = *code;
      break;
    }
    ++entered;
  }
  return entered;
}

void LayerChain::Leave(const Call& call, size_t entered) {
  if (entered == 0) return;
  const InsideScope scope;
  while (entered > 0) layers_[--entered]->After(call);
}

std::string LayerChain::LeakReport() {
  std::string report;
  for (const auto& layer : layers_) {
    const std::string part = layer->LeakReport();
    if (part.empty()) continue;
    if (!report.empty()) report += '\n';
    report += part;
  }
  return report;
}

}  // namespace pypto::acl
