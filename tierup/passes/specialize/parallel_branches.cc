#include "tierup/passes/specialize/parallel_branches.h"

#include <algorithm>
#include <numeric>

namespace tierup::passes {
namespace {

// A node is never the reason to hand anything over below a tenth of what that costs, or below a
// hundredth of its line where it costs nothing.
double heavy_from(std::span<const LineNode> line, const BranchLimits& limits) {
  if (limits.handover_nanoseconds > 0) return 0.1 * limits.handover_nanoseconds;
  return 0.01 * std::accumulate(line.begin(), line.end(), 0.0,
                                [](double sum, const LineNode& n) { return sum + n.nanoseconds; });
}

using Places = std::vector<uint32_t>;

void unite(Places& into, const Places& more) {
  into.insert(into.end(), more.begin(), more.end());
  std::sort(into.begin(), into.end());
  into.erase(std::unique(into.begin(), into.end()), into.end());
}

class Finder {
 public:
  Finder(std::span<const LineNode> line, const BranchLimits& limits)
      : line_(line),
        limits_(limits),
        heavy_from_(heavy_from(line, limits)),
        heavy_before_(line.size()) {
    for (uint32_t i = 0; i < line.size(); ++i) {
      for (const uint32_t before : line[i].after)
        unite(heavy_before_[i], is_heavy(before) ? Places{before} : heavy_before_[before]);
    }
  }

  Branches run() {
    Places heavy;
    for (uint32_t i = 0; i < line_.size(); ++i) {
      if (is_heavy(i)) heavy.push_back(i);
    }
    Branches found = search(heavy);
    for (Places& branch : found) add_light(branch);
    return found;
  }

 private:
  bool is_heavy(uint32_t place) const { return line_[place].nanoseconds >= heavy_from_; }

  double cost(const Places& places) const {
    return std::accumulate(places.begin(), places.end(), 0.0, [&](double sum, uint32_t place) {
      return sum + line_[place].nanoseconds;
    });
  }

  // Goes down series and parallel parts until a group is worth it.
  Branches search(const Places& nodes) const {
    if (nodes.size() < 2) return {};
    const std::vector<Places> components = components_of(nodes);
    if (components.size() > 1) {
      if (Branches group = worth_it(components); !group.empty()) return group;
      return search_each(components);
    }
    const std::vector<Places> parts = parts_between_cuts(nodes);
    return parts.size() == 1 && parts[0].size() == nodes.size() ? Branches{} : search_each(parts);
  }

  Branches search_each(const std::vector<Places>& parts) const {
    for (const Places& part : parts) {
      if (Branches found = search(part); !found.empty()) return found;
    }
    return {};
  }

  // What hangs together by dependencies among `nodes`, in order of first places.
  std::vector<Places> components_of(const Places& nodes) const {
    std::vector<size_t> parent(nodes.size());
    std::iota(parent.begin(), parent.end(), size_t{0});
    const auto root = [&](size_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    for_edges(nodes, [&](size_t before, size_t after) {
      const size_t a = root(before);
      const size_t b = root(after);
      parent[std::max(a, b)] = std::min(a, b);
    });
    std::vector<Places> by_root(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) by_root[root(i)].push_back(nodes[i]);
    std::erase_if(by_root, [](const Places& places) { return places.empty(); });
    return by_root;
  }

  template <typename Visit>
  void for_edges(const Places& nodes, Visit&& visit) const {
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (const uint32_t before : heavy_before_[nodes[i]]) {
        const auto found = std::lower_bound(nodes.begin(), nodes.end(), before);
        if (found != nodes.end() && *found == before)
          visit(static_cast<size_t>(found - nodes.begin()), i);
      }
    }
  }

  // Through a cut everything passes: no dependency, nor a way from the start or to the end, leads
  // past it.
  std::vector<Places> parts_between_cuts(const Places& nodes) const {
    const size_t end = nodes.size();
    std::vector<size_t> farthest(end, 0);  // The last place that a node's results go to.
    std::vector<bool> has_before(end, false);
    for_edges(nodes, [&](size_t before, size_t after) {
      farthest[before] = std::max(farthest[before], after);
      has_before[after] = true;
    });
    size_t reach = 0;  // Of all dependencies from before the node at hand.
    for (size_t i = 0; i < end; ++i) {
      if (!has_before[i]) reach = i;
    }
    std::vector<Places> parts(1);
    for (size_t i = 0; i < end; ++i) {
      if (reach <= i) {
        parts.emplace_back();
      } else {
        parts.back().push_back(nodes[i]);
      }
      reach = std::max(reach, farthest[i] == 0 ? end : farthest[i]);
    }
    std::erase_if(parts, [](const Places& places) { return places.empty(); });
    return parts;
  }

  Branches worth_it(const std::vector<Places>& components) const {
    Branches branches;
    for (const Places& places : components) {
      if (cost(places) >= limits_.least_nanoseconds) branches.push_back(places);
    }
    if (branches.size() < 2) return {};
    std::stable_sort(branches.begin(), branches.end(),
                     [&](const Places& a, const Places& b) { return cost(a) > cost(b); });
    double total = 0;
    for (const Places& branch : branches) total += cost(branch);
    const double best = std::max(cost(branches.front()), total / limits_.threads);
    branches.pop_back();  // The caller's own.
    const double price = limits_.handover_nanoseconds * static_cast<double>(branches.size());
    return total - best > price ? branches : Branches{};
  }

  // Light nodes on the way from one of the branch's nodes to another belong to it.
  void add_light(Places& branch) const {
    std::vector<bool> inside(line_.size(), false);
    for (const uint32_t place : branch) inside[place] = true;
    std::vector<bool> feeds(line_.size(), false);
    for (uint32_t i = branch.back() + 1; i-- > branch.front();) {
      const auto is_member = [&](uint32_t before) {
        return std::binary_search(branch.begin(), branch.end(), before);
      };
      if (feeds[i] && !is_heavy(i)) {
        inside[i] = std::any_of(heavy_before_[i].begin(), heavy_before_[i].end(), is_member);
      }
      if (!inside[i]) continue;
      for (const uint32_t before : line_[i].after) feeds[before] = true;
    }
    branch.clear();
    for (uint32_t i = 0; i < line_.size(); ++i) {
      if (inside[i]) branch.push_back(i);
    }
  }

  std::span<const LineNode> line_;
  const BranchLimits& limits_;
  const double heavy_from_;
  std::vector<Places> heavy_before_;  // By place: the nearest heavy nodes that it depends on.
};

}  // namespace

Branches find_branches(std::span<const LineNode> line, const BranchLimits& limits) {
  return Finder(line, limits).run();
}

}  // namespace tierup::passes
