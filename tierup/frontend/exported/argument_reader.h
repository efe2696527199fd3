// Readers of the schema's recursive parts: arguments, graphs, tensor metadata.
#pragma once

#include "tierup/frontend/exported/json_cursor.h"
#include "tierup/frontend/exported/program_data.h"

namespace tierup::frontend::exported {

// An Argument union. Throws kCorruptArchive with the path for an unknown variant or a wrong type.
Argument read_argument(const JsonCursor& json);
// A {"name": ...} struct that refers to a value (signatures), or an Argument union.
Argument read_named_reference(const JsonCursor& json);
TensorMeta read_tensor_meta(const JsonCursor& json);
SymInt read_sym_int(const JsonCursor& json);
GraphData read_graph(const JsonCursor& json);

}  // namespace tierup::frontend::exported
