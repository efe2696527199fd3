#include "tierup/kernels/vision/regions.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "tierup/base/interrupt.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/vision/box_overlap.h"

namespace tierup::kernels {
namespace {

constexpr auto kBad = ErrorCode::kInvalidArgument;

// A feature map and its regions, in the work type, and the bins of the result.
struct Regions {
  Tensor input, rois;
  ScalarType dtype = ScalarType::kFloat;
  int64_t count = 0, channels = 0, height = 0, width = 0;
  int64_t bins_y = 0, bins_x = 0;
};

Regions make_regions(const Tensor& input, const Tensor& rois, int64_t pooled_height,
                     int64_t pooled_width) {
  if (input.dim() != 4) {
    fail(kBad, "expected a 4-D feature map, got {}", shape_string(input.sizes()));
  }
  if (!(rois.dim() == 2 && rois.size(1) == 5)) {
    fail(kBad, "Tensor rois should have shape as Tensor[K, 5], got {}", shape_string(rois.sizes()));
  }
  require(input.dtype() == rois.dtype(), kBad,
          "expected input and rois of the same dtype, got {} and {}",
          scalar_type_name(input.dtype()), scalar_type_name(rois.dtype()));
  require(pooled_height > 0 && pooled_width > 0, kBad,
          "expected a positive output size, got {} x {}", pooled_height, pooled_width);
  const ScalarType work = work_type(input.dtype());
  Regions r{as_work(input, work), as_work(rois, work), input.dtype(), rois.size(0), input.size(1),
            input.size(2),        input.size(3),       pooled_height, pooled_width};
  dispatch_work(work, "roi_align", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    for (int64_t i = 0; i < r.count; ++i) {
      const T batch = r.rois.data<T>()[i * 5];
      require(batch >= 0 && batch < static_cast<T>(input.size(0)), ErrorCode::kOutOfRange,
              "roi {} names image {} of a batch of {}", i, static_cast<double>(batch),
              input.size(0));
    }
  });
  return r;
}

// Bilinear interpolation of any plane at one point.
template <typename T>
struct Corners {
  int64_t at[4];
  T weight[4];

  T of(const T* plane) const {
    return weight[0] * plane[at[0]] + weight[1] * plane[at[1]] + weight[2] * plane[at[2]] +
           weight[3] * plane[at[3]];
  }
};

// None where a plane is 0: outside by more than one pixel.
template <typename T>
std::optional<Corners<T>> corners_at(int64_t height, int64_t width, T y, T x) {
  if (!(y >= -1 && y <= static_cast<T>(height) && x >= -1 && x <= static_cast<T>(width)))
    return std::nullopt;
  y = std::max(y, T{0});
  x = std::max(x, T{0});
  int64_t top = static_cast<int64_t>(y);
  int64_t left = static_cast<int64_t>(x);
  int64_t bottom = top + 1;
  int64_t right = left + 1;
  if (top >= height - 1) {
    top = bottom = height - 1;
    y = static_cast<T>(top);
  }
  if (left >= width - 1) {
    left = right = width - 1;
    x = static_cast<T>(left);
  }
  const T ly = y - static_cast<T>(top);
  const T lx = x - static_cast<T>(left);
  return Corners<T>{
      {top * width + left, top * width + right, bottom * width + left, bottom * width + right},
      {(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx}};
}

// The rectangle of a region on the feature map, its bins, and the samples in each.
template <typename T>
struct Bins {
  const T* image;
  T y, x, bin_height, bin_width;
  int64_t samples_y, samples_x;

  T samples() const { return static_cast<T>(std::max<int64_t>(samples_y * samples_x, 1)); }
};

template <typename T>
Bins<T> bins_of(const Regions& r, int64_t i, double scale, T offset, T least,
                int64_t sampling_ratio) {
  const T* roi = r.rois.data<T>() + i * 5;
  const T s = static_cast<T>(scale);
  Bins<T> b;
  b.image = r.input.data<T>() + static_cast<int64_t>(roi[0]) * r.channels * r.height * r.width;
  b.x = roi[1] * s - offset;
  b.y = roi[2] * s - offset;
  const T width = std::max(roi[3] * s - offset - b.x, least);
  const T height = std::max(roi[4] * s - offset - b.y, least);
  b.bin_height = height / static_cast<T>(r.bins_y);
  b.bin_width = width / static_cast<T>(r.bins_x);
  // A hostile region must not ask for more samples than any image has pixels.
  constexpr int64_t kMost = 1 << 14;
  require(sampling_ratio <= kMost, ErrorCode::kInvalidArgument,
          "sampling_ratio is {}, at most {} samples a side are taken", sampling_ratio, kMost);
  const auto adaptive = [&](T size) {
    return static_cast<int64_t>(std::ceil(std::clamp(size, T{0}, static_cast<T>(kMost))));
  };
  b.samples_y = sampling_ratio > 0 ? sampling_ratio : adaptive(b.bin_height);
  b.samples_x = sampling_ratio > 0 ? sampling_ratio : adaptive(b.bin_width);
  return b;
}

// So many in a row that a run may be stopped between rows.
constexpr int64_t kManySamples = 256;

// take(corners) for each sample of a bin that a plane has something at, in order.
template <typename T, typename Take>
void for_samples(const Regions& r, const Bins<T>& b, int64_t py, int64_t px, const Take& take) {
  for (int64_t iy = 0; iy < b.samples_y; ++iy) {
    if (b.samples_x > kManySamples) poll_interrupt();
    const T y = b.y + static_cast<T>(py) * b.bin_height +
                (static_cast<T>(iy) + T{0.5}) * b.bin_height / static_cast<T>(b.samples_y);
    for (int64_t ix = 0; ix < b.samples_x; ++ix) {
      const T x = b.x + static_cast<T>(px) * b.bin_width +
                  (static_cast<T>(ix) + T{0.5}) * b.bin_width / static_cast<T>(b.samples_x);
      if (const auto corners = corners_at(r.height, r.width, y, x)) take(*corners);
    }
  }
}

template <typename T>
T average_bin(const Regions& r, const Bins<T>& b, const T* plane, int64_t py, int64_t px) {
  T sum = 0;
  for_samples(r, b, py, px, [&](const Corners<T>& corners) { sum += corners.of(plane); });
  return sum / b.samples();
}

// The samples of all bins of a region, which its channels share.
template <typename T>
class SharedSamples {
 public:
  // So many as stay in a near cache; of more, each channel finds its own.
  static bool are_few(const Regions& r, const Bins<T>& b) {
    constexpr int64_t kMost = 4096;
    return b.samples_y * b.samples_x <= kMost / std::min(kMost, r.bins_y * r.bins_x);
  }

  SharedSamples(const Regions& r, const Bins<T>& b) : count_(b.samples()) {
    for (int64_t y = 0; y < r.bins_y; ++y) {
      for (int64_t x = 0; x < r.bins_x; ++x) {
        for_samples(r, b, y, x, [&](const Corners<T>& corners) { corners_.push_back(corners); });
        ends_.push_back(corners_.size());
      }
    }
  }

  // The averages of all bins of a plane.
  T* average(const T* plane, T* target) const {
    size_t i = 0;
    for (const size_t end : ends_) {
      T sum = 0;
      for (; i < end; ++i) sum += corners_[i].of(plane);
      *target++ = sum / count_;
    }
    return target;
  }

 private:
  T count_;
  std::vector<Corners<T>> corners_;
  std::vector<size_t> ends_;  // Of each bin.
};

// [channels, bins_y, bins_x] of one region.
template <typename T>
void align(const Regions& r, const Bins<T>& b, T* target) {
  const int64_t plane = r.height * r.width;
  if (SharedSamples<T>::are_few(r, b)) {
    const SharedSamples<T> samples(r, b);
    for (int64_t c = 0; c < r.channels; ++c) target = samples.average(b.image + c * plane, target);
    return;
  }
  for (int64_t c = 0; c < r.channels; ++c) {
    for (int64_t y = 0; y < r.bins_y; ++y) {
      for (int64_t x = 0; x < r.bins_x; ++x)
        *target++ = average_bin(r, b, b.image + c * plane, y, x);
    }
  }
}

// Pixels [first, last) of a bin of integer pooling.
struct PixelRange {
  int64_t first, last;
};
template <typename T>
PixelRange pixels(T start, T bin, int64_t i, int64_t size) {
  const auto clamped = [size](T v) {
    return static_cast<int64_t>(std::clamp(v, T{0}, static_cast<T>(size)));
  };
  return {clamped(std::floor(static_cast<T>(i) * bin) + start),
          clamped(std::ceil(static_cast<T>(i + 1) * bin) + start)};
}

// Channels of a position-sensitive map: bin (y, x) of output channel c reads (c * bins_y + y) *
// bins_x + x.
Tensor channel_mapping(const Regions& r, int64_t out_channels) {
  const Tensor mapping =
      Tensor::empty(IntVector{r.count, out_channels, r.bins_y, r.bins_x}, ScalarType::kInt);
  const int64_t each = out_channels * r.bins_y * r.bins_x;
  for (int64_t i = 0; i < mapping.numel(); ++i)
    mapping.data<int32_t>()[i] = static_cast<int32_t>(i % each);
  return mapping;
}

int64_t position_sensitive_channels(const Regions& r) {
  require(r.channels % (r.bins_y * r.bins_x) == 0, kBad,
          "input channels must be a multiple of pooling height * pooling width, got {} and {} x {}",
          r.channels, r.bins_y, r.bins_x);
  return r.channels / (r.bins_y * r.bins_x);
}

// body(region, channel, bin y, bin x) gives each element of [K, channels, bins_y, bins_x].
template <typename T, typename Body>
void fill_bins(const Regions& r, int64_t channels, T* out, const Body& body) {
  parallel_for(0, r.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i, out + i * channels * r.bins_y * r.bins_x);
  });
}

// Each bin of a region's reads its own channel; `fill_region(i, target)` makes those of region i.
template <typename FillRegion>
std::tuple<Tensor, Tensor> position_sensitive(const Regions& r, const char* name,
                                              const FillRegion& fill_region) {
  const int64_t channels = position_sensitive_channels(r);
  const Tensor out =
      Tensor::empty(IntVector{r.count, channels, r.bins_y, r.bins_x}, r.input.dtype());
  dispatch_work(out.dtype(), name, [&]<typename Tag>(Tag) {
    fill_bins(r, channels, out.data<typename Tag::type>(), fill_region);
  });
  return {to_dtype(out, r.dtype), channel_mapping(r, channels)};
}

// The largest number of type T that is no larger: numbers of T are above it as they are above
// `value`, with which torchvision compares them in double.
template <typename T>
T rounded_down(double value) {
  const T rounded = static_cast<T>(value);
  return static_cast<double>(rounded) > value
             ? std::nextafter(rounded, -std::numeric_limits<T>::infinity())
             : rounded;
}

// Appends the places of the boxes that no better one overlaps; `order` has the best first.
template <typename T>
void keep_best(const T* box, const std::vector<int64_t>& order, T threshold,
               std::vector<int64_t>& kept) {
  const BoxRows<T> rows(box, order);
  const BoxOverlaps overlaps = box_overlaps();
  std::vector<T> gone(static_cast<size_t>(rows.width), T{0});
  for (int64_t i = 0; i < rows.count; ++i) {
    if (gone[static_cast<size_t>(i)] != T{0}) continue;
    poll_interrupt();
    kept.push_back(order[static_cast<size_t>(i)]);
    overlaps(rows, i, threshold, gone.data());
  }
}

}  // namespace

Tensor nms(const Tensor& dets, const Tensor& scores, double iou_threshold) {
  if (!(dets.dim() == 2 && dets.size(1) == 4)) {
    fail(kBad, "boxes should be a 2d tensor with 4 columns, got {}", shape_string(dets.sizes()));
  }
  if (!(scores.dim() == 1 && scores.size(0) == dets.size(0))) {
    fail(kBad, "boxes and scores should have same number of elements in dimension 0, got {} and {}",
         dets.size(0), shape_string(scores.sizes()));
  }
  require(dets.dtype() == scores.dtype(), kBad, "dets should have the same type as scores");
  const int64_t count = dets.size(0);
  const ScalarType work = work_type(dets.dtype());
  const Tensor boxes = as_work(dets, work);
  const Tensor values = as_work(scores, work);
  std::vector<int64_t> kept;
  dispatch_work(work, "nms", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    const T* score = values.data<T>();
    // NaN counts as the largest, as in sort.
    std::stable_sort(order.begin(), order.end(), [score](int64_t a, int64_t b) {
      return score[a] > score[b] || (std::isnan(score[a]) && !std::isnan(score[b]));
    });
    keep_best(boxes.data<T>(), order, rounded_down<T>(iou_threshold), kept);
  });
  const Tensor out = Tensor::empty(IntVector{static_cast<int64_t>(kept.size())}, ScalarType::kLong);
  std::copy(kept.begin(), kept.end(), out.data<int64_t>());
  return out;
}

Tensor roi_align(const Tensor& input, const Tensor& rois, double spatial_scale,
                 int64_t pooled_height, int64_t pooled_width, int64_t sampling_ratio,
                 bool aligned) {
  const Regions r = make_regions(input, rois, pooled_height, pooled_width);
  const Tensor out =
      Tensor::empty(IntVector{r.count, r.channels, r.bins_y, r.bins_x}, r.input.dtype());
  dispatch_work(out.dtype(), "roi_align", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    fill_bins(r, r.channels, out.data<T>(), [&](int64_t i, T* target) {
      const Bins<T> b =
          bins_of<T>(r, i, spatial_scale, aligned ? T{0.5} : T{0},
                     aligned ? std::numeric_limits<T>::lowest() : T{1}, sampling_ratio);
      align(r, b, target);
    });
  });
  return to_dtype(out, r.dtype);
}

std::tuple<Tensor, Tensor> roi_pool(const Tensor& input, const Tensor& rois, double spatial_scale,
                                    int64_t pooled_height, int64_t pooled_width) {
  const Regions r = make_regions(input, rois, pooled_height, pooled_width);
  const IntVector sizes{r.count, r.channels, r.bins_y, r.bins_x};
  const Tensor out = Tensor::empty(sizes, r.input.dtype());
  const Tensor argmax = Tensor::empty(sizes, ScalarType::kInt);
  dispatch_work(out.dtype(), "roi_pool", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    for (int64_t i = 0; i < r.count; ++i) {
      const T* roi = r.rois.data<T>() + i * 5;
      const T scale = static_cast<T>(spatial_scale);
      const T x0 = std::round(roi[1] * scale);
      const T y0 = std::round(roi[2] * scale);
      const T bin_width =
          std::max(std::round(roi[3] * scale) - x0 + 1, T{1}) / static_cast<T>(r.bins_x);
      const T bin_height =
          std::max(std::round(roi[4] * scale) - y0 + 1, T{1}) / static_cast<T>(r.bins_y);
      for (int64_t c = 0; c < r.channels; ++c) {
        const T* plane = r.input.data<T>() +
                         (static_cast<int64_t>(roi[0]) * r.channels + c) * r.height * r.width;
        for (int64_t bin = 0; bin < r.bins_y * r.bins_x; ++bin) {
          const PixelRange ys = pixels(y0, bin_height, bin / r.bins_x, r.height);
          const PixelRange xs = pixels(x0, bin_width, bin % r.bins_x, r.width);
          int32_t found = -1;
          T best =
              ys.first < ys.last && xs.first < xs.last ? std::numeric_limits<T>::lowest() : T{0};
          for (int64_t y = ys.first; y < ys.last; ++y) {
            for (int64_t x = xs.first; x < xs.last; ++x) {
              if (!(plane[y * r.width + x] > best)) continue;
              best = plane[y * r.width + x];
              found = static_cast<int32_t>(y * r.width + x);
            }
          }
          const int64_t at = (i * r.channels + c) * r.bins_y * r.bins_x + bin;
          out.data<T>()[at] = best;
          argmax.data<int32_t>()[at] = found;
        }
      }
    }
  });
  return {to_dtype(out, r.dtype), argmax};
}

std::tuple<Tensor, Tensor> ps_roi_align(const Tensor& input, const Tensor& rois,
                                        double spatial_scale, int64_t pooled_height,
                                        int64_t pooled_width, int64_t sampling_ratio) {
  const Regions r = make_regions(input, rois, pooled_height, pooled_width);
  return position_sensitive(r, "ps_roi_align", [&]<typename T>(int64_t i, T* target) {
    const Bins<T> b =
        bins_of<T>(r, i, spatial_scale, T{0.5}, std::numeric_limits<T>::lowest(), sampling_ratio);
    for (int64_t at = 0; at < r.channels; ++at) {
      const T* plane = b.image + at * r.height * r.width;
      target[at] = average_bin(r, b, plane, at / r.bins_x % r.bins_y, at % r.bins_x);
    }
  });
}

std::tuple<Tensor, Tensor> ps_roi_pool(const Tensor& input, const Tensor& rois,
                                       double spatial_scale, int64_t pooled_height,
                                       int64_t pooled_width) {
  const Regions r = make_regions(input, rois, pooled_height, pooled_width);
  return position_sensitive(r, "ps_roi_pool", [&]<typename T>(int64_t i, T* target) {
    const T* roi = r.rois.data<T>() + i * 5;
    const T scale = static_cast<T>(spatial_scale);
    const T x0 = std::round(roi[1] * scale);
    const T y0 = std::round(roi[2] * scale);
    // Regions without size count as one tenth of a pixel.
    const T bin_width =
        std::max(std::round(roi[3] * scale) - x0, static_cast<T>(0.1)) / static_cast<T>(r.bins_x);
    const T bin_height =
        std::max(std::round(roi[4] * scale) - y0, static_cast<T>(0.1)) / static_cast<T>(r.bins_y);
    for (int64_t at = 0; at < r.channels; ++at) {
      const T* plane =
          r.input.data<T>() + (static_cast<int64_t>(roi[0]) * r.channels + at) * r.height * r.width;
      const PixelRange ys = pixels(y0, bin_height, at / r.bins_x % r.bins_y, r.height - 1);
      const PixelRange xs = pixels(x0, bin_width, at % r.bins_x, r.width - 1);
      T sum = 0;
      for (int64_t y = ys.first; y < ys.last; ++y) {
        for (int64_t x = xs.first; x < xs.last; ++x) sum += plane[y * r.width + x];
      }
      const int64_t area = (ys.last - ys.first) * (xs.last - xs.first);
      target[at] = ys.first >= ys.last || xs.first >= xs.last ? T{0} : sum / static_cast<T>(area);
    }
  });
}

}  // namespace tierup::kernels
