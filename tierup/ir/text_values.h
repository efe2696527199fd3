// The two leaves of the graph text: types and constants. Used by text_parser.cc.
#pragma once

#include "tierup/ir/text.h"
#include "tierup/ir/text_cursor.h"

namespace tierup::ir {

// What Type::to_string writes: "Dict[str, Optional[Float(2, s0)]]". Other names are asked of
// context.types; a bare unknown name is a type variable.
TypePtr parse_type(TextCursor& cursor, const TextContext& context);

// None, True, 2, 2.5, "text", device("cpu"), complex(1., 2.), list[int](1, 2), tuple(1, "a"),
// dict[str, int]("a": 1), tensor(Float, [2], [1., 2.]), or <Tensor $0> from context.constants.
IValue parse_constant(TextCursor& cursor, const TextContext& context);

}  // namespace tierup::ir
