#include "tierup/kernels/shape/padding.h"

#include <algorithm>
#include <array>
#include <vector>

#include "tierup/base/interrupt.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/element_width.h"
#include "tierup/kernels/shape/slicing.h"

namespace tierup::kernels {
namespace {

constexpr int64_t kBetweenQuestions = 32768;  // Numbers, whether to stop.

constexpr std::array<std::string_view, 3> kBorderNames = {"reflect", "replicate", "circular"};

using SourceIndices = std::vector<int64_t>;

}  // namespace

std::optional<Border> border_of(std::string_view mode) {
  const auto found = std::find(kBorderNames.begin(), kBorderNames.end(), mode);
  if (found == kBorderNames.end()) return std::nullopt;
  return static_cast<Border>(found - kBorderNames.begin());
}

namespace {

// Where the entries of a padded dimension are taken from.
class BorderSources {
 public:
  // Circular padding repeats what negative widths leave.
  BorderSources(Border border, int64_t size, int64_t before, int64_t after)
      : border_(border), size_(size), before_(before), total_(size + before + after) {
    if (border != Border::kCircular) return;
    first_ = std::max<int64_t>(-before, 0);
    end_ = size - std::max<int64_t>(-after, 0);
  }

  int64_t total() const { return total_; }
  int64_t source(int64_t i) const {
    const int64_t j = i - before_;
    switch (border_) {
      case Border::kReflect: {
        const int64_t mirrored = j < 0 ? -j : j;
        return mirrored >= size_ ? 2 * (size_ - 1) - mirrored : mirrored;
      }
      case Border::kReplicate: return std::clamp<int64_t>(j, 0, size_ - 1);
      default: {
        const int64_t left = end_ - first_;
        return first_ + ((j - first_) % left + left) % left;
      }
    }
  }
  // How many entries from i on are those of the source in order; at least one.
  int64_t in_order(int64_t i) const {
    const int64_t j = i - before_;
    const bool is_inside = j >= first_ && j < end_;
    return is_inside ? std::min(end_ - j, total_ - i) : 1;
  }

 private:
  Border border_;
  int64_t size_;
  int64_t before_;
  int64_t total_;
  int64_t first_ = 0;  // Of what stands where it stood.
  int64_t end_ = size_;
};

void append_run(std::vector<LineRun>& runs, const LineRun& run) {
  const bool goes_on =
      !runs.empty() &&
      (run.from < 0 ? runs.back().from < 0
                    : runs.back().from >= 0 && run.from == runs.back().from + runs.back().count);
  if (goes_on) {
    runs.back().count += run.count;
  } else {
    runs.push_back(run);
  }
}

}  // namespace

std::vector<int64_t> border_sources(Border border, int64_t size, int64_t before, int64_t after) {
  const BorderSources sources(border, size, before, after);
  SourceIndices from(static_cast<size_t>(sources.total()));
  for (int64_t i = 0; i < sources.total(); ++i) {
    if (i % kBetweenQuestions == 0) poll_interrupt();
    from[static_cast<size_t>(i)] = sources.source(i);
  }
  return from;
}

std::vector<LineRun> border_runs(Border border, int64_t size, int64_t before, int64_t after) {
  const BorderSources sources(border, size, before, after);
  std::vector<LineRun> runs;
  int64_t asked = 0;
  for (int64_t i = 0; i < sources.total();) {
    if (asked++ % kBetweenQuestions == 0) poll_interrupt();
    const int64_t count = sources.in_order(i);
    append_run(runs, {i, sources.source(i), count});
    i += count;
  }
  return runs;
}

std::vector<LineRun> line_runs(const std::vector<int64_t>& sources) {
  std::vector<LineRun> runs;
  for (size_t i = 0; i < sources.size(); ++i) {
    append_run(runs, {static_cast<int64_t>(i), sources[i], 1});
  }
  return runs;
}

namespace {

void check_widths(const Tensor& self, Border border, int64_t d, int64_t before, int64_t after) {
  const int64_t size = self.sizes()[d];
  switch (border) {
    case Border::kReflect:
      if (!(before < size && after < size)) {
        fail(ErrorCode::kInvalidArgument,
             "Padding size should be less than the corresponding input dimension, but got: "
             "padding ({}, {}) at dimension {} of input {}",
             before, after, d, shape_string(self.sizes()));
      }
      break;
    case Border::kCircular:
      if (!(before <= size && after <= size)) {
        fail(ErrorCode::kInvalidArgument,
             "Padding value causes wrapping around more than once: padding ({}, {}) at dimension "
             "{} of input {}",
             before, after, d, shape_string(self.sizes()));
      }
      break;
    case Border::kReplicate: break;
  }
  int64_t total = 0;
  const bool overflow =
      __builtin_add_overflow(size, before, &total) || __builtin_add_overflow(total, after, &total);
  const int64_t cropped = std::max<int64_t>(-before, 0) + std::max<int64_t>(-after, 0);
  const bool any_left = border != Border::kCircular || total == 0 || cropped < size;
  if (!(!overflow && total >= (border == Border::kCircular ? 0 : 1) && any_left)) {
    fail(ErrorCode::kInvalidArgument,
         "padding ({}, {}) of dimension {} of input {} leaves no elements", before, after, d,
         shape_string(self.sizes()));
  }
}

// The last up to three dimensions, seen as planes, rows and columns of a contiguous source.
struct Frame {
  std::array<SourceIndices, 2> from;  // Planes, rows.
  std::vector<LineRun> columns;
  int64_t width = 1;            // Of the result.
  std::array<int64_t, 3> size;  // Of the source.
  int64_t batch = 1;
};

template <typename U>
void gather_frame(const Frame& frame, const U* source, U* out) {
  const auto planes = static_cast<int64_t>(frame.from[0].size());
  const auto rows = static_cast<int64_t>(frame.from[1].size());
  const int64_t columns = frame.width;
  const int64_t grain = grain_of(columns);
  parallel_for(0, frame.batch * planes * rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end;) {
      const int64_t image = r / (planes * rows);
      const int64_t plane = frame.from[0][r / rows % planes];
      const U* lines = source + (image * frame.size[0] + plane) * frame.size[1] * frame.size[2];
      const int64_t last = std::min(rows, r % rows + end - r);
      for (int64_t i = r % rows; i < last; ++i, ++r) {
        const U* line = lines + frame.from[1][i] * frame.size[2];
        U* to = out + r * columns;
        for (const LineRun& run : frame.columns) {
          if (run.count == 1) {
            to[run.to] = line[run.from];
          } else {
            std::copy_n(line + run.from, run.count, to + run.to);
          }
        }
      }
    }
  });
}

// One dimension or two stand before those that are padded, and nothing but a batch is empty;
// circular padding takes whatever is.
void check_input(const Tensor& self, Border border, int64_t dims) {
  bool filled = self.dim() == dims + 1 || self.dim() == dims + 2;
  for (int64_t d = self.dim() == dims + 2 ? 1 : 0; filled && d < self.dim(); ++d)
    filled = border == Border::kCircular || self.sizes()[d] != 0;
  if (!filled) {
    fail(ErrorCode::kInvalidArgument,
         "Expected {}D or {}D (batch mode) tensor with possibly 0 batch size and other non-zero "
         "dimensions for input, but got: {}",
         dims + 1, dims + 2, shape_string(self.sizes()));
  }
}

// Pads the last `dims` dimensions. The input has `dims` + 1 or + 2 dimensions.
Tensor border_pad(const Tensor& self, const IntVector& pad, Border border, int64_t dims) {
  require(static_cast<int64_t>(pad.size()) == 2 * dims, ErrorCode::kInvalidArgument,
          "padding size is expected to be {}, but got: {}", 2 * dims, pad.size());
  check_input(self, border, dims);
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t d = self.dim() - 1 - i;
    check_widths(self, border, d, pad[2 * i], pad[2 * i + 1]);
    sizes[d] += pad[2 * i] + pad[2 * i + 1];
  }
  const MemoryFormat format = self.suggest_memory_format();
  const Tensor source = contiguous(self);
  Tensor out = Tensor::empty(sizes, self.dtype());
  if (out.numel() > 0) {
    Frame frame{{SourceIndices{0}, SourceIndices{0}}, {}, sizes.back(), {1, 1, self.size(-1)}};
    frame.columns = border_runs(border, self.size(-1), pad[0], pad[1]);
    for (int64_t i = 1; i < dims; ++i) {
      const int64_t size = self.size(-1 - i);
      frame.from[2 - i] = border_sources(border, size, pad[2 * i], pad[2 * i + 1]);
      frame.size[2 - i] = size;
    }
    for (int64_t d = 0; d < self.dim() - dims; ++d) frame.batch *= sizes[d];
    dispatch_width(self.item_size(), [&](auto tag) {
      using U = typename decltype(tag)::type;
      gather_frame(frame, static_cast<const U*>(source.raw()), static_cast<U*>(out.raw()));
    });
  }
  return dims == 1 ? out : contiguous(out, format);
}

// Lines of the source, `before` entries into each dimension of the result; `value` elsewhere.
template <typename U>
void copy_into_frame(const Tensor& source, const IntVector& before, U value, const Tensor& out) {
  const auto rank = static_cast<size_t>(out.dim());
  const int64_t width = out.sizes()[rank - 1];
  const int64_t count = source.sizes()[rank - 1];
  const int64_t left = before[rank - 1];
  const auto* from = static_cast<const U*>(source.raw());
  auto* to = static_cast<U*>(out.raw());
  // Lines of the result up to the next one that begins again in the last but one dimension.
  const int64_t lines = rank > 1 ? out.sizes()[rank - 2] : 1;
  const int64_t source_lines = rank > 1 ? source.sizes()[rank - 2] : 1;
  const int64_t top = rank > 1 ? before[rank - 2] : 0;
  parallel_for(0, out.numel() / width, grain_of(width), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end;) {
      const int64_t first = line % lines;
      const int64_t last = std::min(lines, first + end - line);
      int64_t rest = line / lines;
      int64_t image = 0;
      int64_t stride = source_lines;
      bool is_inside = true;
      for (size_t d = rank > 1 ? rank - 2 : 0; d-- > 0;) {
        const int64_t i = rest % out.sizes()[d] - before[d];
        rest /= out.sizes()[d];
        is_inside = is_inside && i >= 0 && i < source.sizes()[d];
        image += i * stride;
        stride *= source.sizes()[d];
      }
      for (int64_t i = first; i < last; ++i, ++line) {
        U* row = to + line * width;
        if (!is_inside || i < top || i - top >= source_lines) {
          std::fill_n(row, width, value);
          continue;
        }
        for (int64_t x = 0; x < left; ++x) row[x] = value;
        std::copy_n(from + (image + i - top) * count, count, row + left);
        for (int64_t x = left + count; x < width; ++x) row[x] = value;
      }
    }
  });
}

Tensor pad_by_mode(const Tensor& self, const IntVector& pad, std::string_view mode,
                   std::optional<double> value) {
  require(!value || *value == 0, ErrorCode::kInvalidArgument,
          "Padding mode \"{}\" doesn't take in value argument", mode);
  const std::optional<Border> named = border_of(mode);
  require(named.has_value(), ErrorCode::kInvalidArgument, "Unrecognised padding mode {}", mode);
  const Border border = *named;
  if (border == Border::kCircular) return circular_pad(self, pad);
  const auto dims = static_cast<int64_t>(pad.size()) / 2;
  const bool known = dims >= 1 && dims <= 3 && (self.dim() == dims + 1 || self.dim() == dims + 2);
  require(known, ErrorCode::kInvalidArgument,
          "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, got {} "
          "pads for a tensor of {} dimensions",
          pad.size(), self.dim());
  return border_pad(self, pad, border, dims);
}

}  // namespace

Tensor constant_pad_nd(const Tensor& self, const IntVector& pad, const Scalar& value) {
  require(pad.size() % 2 == 0, ErrorCode::kInvalidArgument,
          "Length of pad must be even but instead it equals {}", pad.size());
  const auto padded = static_cast<int64_t>(pad.size()) / 2;
  require(padded <= self.dim(), ErrorCode::kInvalidArgument,
          "Length of pad should be no more than twice the number of dimensions of the input. Pad "
          "length is {} while the input has {} dimensions.",
          pad.size(), self.dim());
  IntVector sizes(self.sizes().begin(), self.sizes().end());
  Tensor source = self;
  for (int64_t i = 0; i < padded; ++i) {
    const int64_t d = self.dim() - 1 - i;
    const bool overflow = __builtin_add_overflow(sizes[d], pad[2 * i], &sizes[d]) ||
                          __builtin_add_overflow(sizes[d], pad[2 * i + 1], &sizes[d]);
    require(!overflow && sizes[d] >= 0, ErrorCode::kInvalidArgument,
            "The input size {}, plus negative padding {} and {} resulted in a negative output "
            "size, which is invalid. Check dimension {} of your input.",
            self.sizes()[d], pad[2 * i], pad[2 * i + 1], d);
    const int64_t first = std::min(std::max<int64_t>(-pad[2 * i], 0), self.sizes()[d]);
    const int64_t last = std::max(first, self.sizes()[d] - std::max<int64_t>(-pad[2 * i + 1], 0));
    source = narrow(source, d, first, last - first);
  }
  Tensor out = Tensor::empty(sizes, self.dtype(), self.suggest_memory_format());
  if (out.numel() == 0) return out;
  const bool is_row_major = self.suggest_memory_format() == MemoryFormat::kContiguous;
  if (out.numel() == source.numel()) {  // Nothing but cut off.
    copy_into(out, source);
    return out;
  }
  if (source.numel() > 0 && self.dim() > 0 && is_row_major) {
    IntVector before(sizes.size(), 0);
    for (int64_t i = 0; i < padded; ++i)
      before[static_cast<size_t>(self.dim() - 1 - i)] = std::max<int64_t>(pad[2 * i], 0);
    const Tensor one = Tensor::empty(IntVector{1}, self.dtype());
    fill(one, value);
    dispatch_width(self.item_size(), [&](auto tag) {
      using U = typename decltype(tag)::type;
      copy_into_frame(contiguous(source), before, *static_cast<const U*>(one.raw()), out);
    });
    return out;
  }
  fill(out, value);
  if (source.numel() == 0) return out;
  Tensor target = out;
  for (int64_t i = 0; i < padded; ++i) {
    const int64_t d = self.dim() - 1 - i;
    target = narrow(target, d, std::max<int64_t>(pad[2 * i], 0), source.sizes()[d]);
  }
  copy_into(target, source);
  return out;
}

Tensor reflection_pad1d(const Tensor& self, const IntVector& pad) {
  return border_pad(self, pad, Border::kReflect, 1);
}
Tensor reflection_pad2d(const Tensor& self, const IntVector& pad) {
  return border_pad(self, pad, Border::kReflect, 2);
}
Tensor reflection_pad3d(const Tensor& self, const IntVector& pad) {
  return border_pad(self, pad, Border::kReflect, 3);
}
Tensor replication_pad1d(const Tensor& self, const IntVector& pad) {
  return border_pad(self, pad, Border::kReplicate, 1);
}
Tensor replication_pad2d(const Tensor& self, const IntVector& pad) {
  return border_pad(self, pad, Border::kReplicate, 2);
}
Tensor replication_pad3d(const Tensor& self, const IntVector& pad) {
  return border_pad(self, pad, Border::kReplicate, 3);
}

Tensor circular_pad(const Tensor& self, const IntVector& pad) {
  const auto dims = static_cast<int64_t>(pad.size()) / 2;
  require(dims >= 1 && dims <= 3 && pad.size() % 2 == 0 &&
              (self.dim() == dims + 1 || self.dim() == dims + 2),
          ErrorCode::kInvalidArgument, "Invalid padding size, expected {} but got {}",
          2 * (self.dim() - 2), pad.size());
  return border_pad(self, pad, Border::kCircular, dims);
}

Tensor pad(const Tensor& self, const IntVector& pad, std::string_view mode,
           std::optional<double> value) {
  require(pad.size() % 2 == 0, ErrorCode::kInvalidArgument,
          "Padding length must be divisible by 2");
  require(static_cast<int64_t>(pad.size()) <= 2 * self.dim(), ErrorCode::kInvalidArgument,
          "Padding length should be less than or equal to two times the input dimension but got "
          "padding length {} and input of dimension {}",
          pad.size(), self.dim());
  if (mode == "constant") return constant_pad_nd(self, pad, Scalar(value.value_or(0.0)));
  return pad_by_mode(self, pad, mode, value);
}

Tensor pad_enum(const Tensor& self, const IntVector& pad, int64_t mode,
                std::optional<double> value) {
  require(mode >= 0 && mode <= 3, ErrorCode::kInvalidArgument, "Unrecognised padding mode {}",
          mode);
  return kernels::pad(self, pad, mode == 0 ? "constant" : kBorderNames[mode - 1], value);
}

}  // namespace tierup::kernels
