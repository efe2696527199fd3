// A convolution of a net in the words of each algorithm that can do it.
#pragma once

#include <optional>
#include <vector>

#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/net/layers.h"
#include "tierup/kernels/net/panel_convolution.h"
#include "tierup/kernels/net/weight_store.h"
#include "tierup/kernels/net/winograd.h"

namespace tierup::kernels::net {

// A convolution of volumes with flat windows is one of planes, as channels lie innermost: of each
// depth's image, or of lines from depth to depth. Others are as they are.
ConvGeometry as_planes(ConvGeometry g);

// Whether windows are such as Winograd's algorithm takes.
bool has_winograd_windows(const ConvGeometry& g);
// As `algorithm`, one of Winograd's, has it.
Winograd winograd_problem(const ConvGeometry& g, Algorithm algorithm);
PanelConvolution panel_problem(const ConvGeometry& g);
// Rows times a matrix: a window of one point.
PanelConvolution panel_product_problem(int64_t rows, int64_t depth, int64_t columns);

// The sizes of an input or a result with so many channels of points.
IntVector image_sizes(const ConvGeometry& g, int64_t channels, const ConvGeometry::Triple& points);

// Whether windows give so few channels that these fill no vector: points do. What turns channels
// into planes for that is little beside the windows, of a few channels, or is tried with them.
bool gives_few_planes(const ConvGeometry& g);

// Both direct ones; panels whose last columns are left over come last.
std::vector<Algorithm> panels_and_onednn(int64_t out_channels);

// What of it tells the candidates apart as well as the whole does, and sooner: the first images of
// the batch, or the first rows of one image.
ConvGeometry part_to_try(ConvGeometry g);
// Of a product: some rows and columns. Its weights come from memory if those of the whole do.
PanelConvolution part_to_try(const PanelConvolution& product);

// Whether tier 0's loops over planes, or over volumes as planes, take this geometry; and what they
// do with it (plane_convolution.h).
bool can_convolve_as_planes(const ConvGeometry& g);
void convolve_as_planes(const ConvGeometry& g, const float* input, const float* weight,
                        const float* bias, float* output, const PlaneFinish& finish);

// The epilogue, if our own loops have all of it.
std::optional<std::vector<StoreStep>> store_steps(const Layer& layer);

// Whether the epilogue ends with a swish over so much that a pass of its own pays behind oneDNN's
// convolution.
bool ends_with_large_swish(const Layer& layer);
Layer without_swish(Layer layer);

}  // namespace tierup::kernels::net
