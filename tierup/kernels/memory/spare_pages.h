// Spare pages: weights of a mapped file that the process holds in a packed form as well.
//
// When a net has packed a weight, the process lets go of the file's pages of it, so that the packed
// form replaces the mapped one in its memory; the system's cache of files keeps them. But tier 0
// still reads the mapped one: to compare the plan with, and for calls that came before it. Each of
// them would bring all weights back, for good. So whoever reads a spare weight lets go of its pages
// again, until it was read so often that it seems to be needed; but for those who do little with
// it, whose call would take several times as long for it (a ResNet-18 over images of 32x32: 17 ms
// instead of 6). What these leave goes when the job that made the packed form is done, and by a job
// once the plan has won over tier 0. When the packed form goes, the weight is spare no longer: a
// plan that lost leaves tier 0 as it was.
//
// Letting go and bringing back are no part of what a reader takes when the weight is its own: they
// are timed, so that whoever compares calls can leave them out.
//
// Pages that were written stay, and so does everything where the system cannot say which they are.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// Whole pages of memory.
struct PageRange {
  char* begin = nullptr;
  size_t bytes = 0;
};

// Says at which offsets from the range's beginning there are pages that the process wrote and has
// its own copy of; nothing if that cannot be known.
using WrittenPages = std::function<std::optional<std::vector<size_t>>(PageRange)>;

// Lets go of the file's pages of a range of a private mapping unless `written` names some, or does
// not know; keeps what is written meanwhile, even if `written` does not know any more then.
void drop_pages(PageRange range, const WrittenPages& written);

// A weight that a packed form stands beside, as long as this does. Any thread.
class SpareWeight {
 public:
  SpareWeight() = default;  // Of none.
  explicit SpareWeight(const void* data) : data_(data) {}
  ~SpareWeight();
  SpareWeight(SpareWeight&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  SpareWeight& operator=(SpareWeight&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  SpareWeight(const SpareWeight&) = delete;
  SpareWeight& operator=(const SpareWeight&) = delete;

 private:
  const void* data_ = nullptr;
};

// Lets go of the pages of a weight in a mapped file, now and after its next readers while what it
// gives stands; memory of our own is left alone. The numbers stay what they are. Any thread.
[[nodiscard]] SpareWeight give_back_pages(const Tensor& weight);

// Weights of fewer bytes are let go of once only: looking for them would cost small products more
// than they weigh.
inline constexpr size_t kLeastSpareBytes = size_t{1} << 18U;

// Multiplications for each number of a weight. Who does fewer would take a third longer or more for
// letting go of its pages and having them read again.
inline constexpr int64_t kLeastWork = 64;

// Stands while a product or a convolution reads an operand of so many bytes, and multiplies so
// often: pages that were let go of come back at its beginning, all at once, and go at its end. What
// reads the weight piece by piece within it is no reader by itself. Any thread.
class WeightReading {
 public:
  WeightReading(const void* weight, size_t bytes, int64_t multiplications);
  ~WeightReading();
  WeightReading(const WeightReading&) = delete;
  WeightReading& operator=(const WeightReading&) = delete;

 private:
  bool is_within_another() const;

  const void* const weight_;
  const size_t bytes_;
  const int64_t multiplications_;
  // The reading of the thread that this one stands in; null if there is none.
  const WeightReading* const outer_;
  const bool is_part_;  // Of another reading of the same weight.
};

// What letting go of pages and bringing them back took the calling thread's readers, ever.
std::chrono::nanoseconds time_for_spare_pages();

// Lets go of a weight's pages that readers left since they were let go of last. Any thread.
void give_back_left_pages(const Tensor& weight);
// Whether readers left pages of any weight of the process.
bool has_left_pages();

}  // namespace tierup::kernels
