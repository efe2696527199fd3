"""Seeds violations of the layering rule into a scratch tree; check_layers must name each."""

import pathlib
import tempfile
import unittest

import check_layers


class SeededViolations(unittest.TestCase):
    def problems(self, path, text):
        with tempfile.TemporaryDirectory() as scratch:
            root = pathlib.Path(scratch)
            (root / path).parent.mkdir(parents=True)
            (root / path).write_text(text)
            return check_layers.check(root)

    def test_upward_include_is_named(self):
        found = self.problems("tierup/tensor/a.h", '#include "tierup/ir/graph.h"\n')
        self.assertEqual(found, ["tierup/tensor/a.h:1: tensor may not include ir"])

    def test_library_outside_its_room_is_named(self):
        found = self.problems("tierup/ir/a.cc", "#include <dnnl.hpp>\n")
        self.assertEqual(found, ["tierup/ir/a.cc:1: only kernels may include dnnl.hpp"])

    def test_public_header_with_an_internal_include_is_named(self):
        found = self.problems("include/tierup/a.h", '#include "tierup/tensor/tensor.h"\n')
        self.assertEqual(len(found), 1)

    def test_sideward_include_between_sub_rooms_is_named(self):
        found = self.problems("tierup/kernels/memory/a.h", '#include "tierup/kernels/gemm/gemm.h"\n')
        self.assertEqual(found, ["tierup/kernels/memory/a.h:1: kernels/memory may not include gemm/gemm.h"])

    def test_folder_that_is_no_sub_room_is_named(self):
        found = self.problems("tierup/kernels/utils/a.h", "")
        self.assertEqual(found, ["tierup/kernels/utils/a.h: sub-room kernels/utils is not in LAYERS"])

    def test_internal_include_of_the_command_is_named(self):
        found = self.problems("cli/a.cc", '#include "tierup/module.h"\n#include "tierup/api/model/model.h"\n')
        self.assertEqual(found, ["cli/a.cc:2: the command may not reach tierup/api/model/model.h"])

    def test_internal_include_behind_a_header_of_the_cases_is_named(self):
        with tempfile.TemporaryDirectory() as scratch:
            root = pathlib.Path(scratch)
            texts = {
                "cli/a.cc": '#include "tierup/cases/a.h"\n',
                "tierup/cases/a.h": '#include "tierup/cases/b.h"\n',
                "tierup/cases/b.h": '#include "tierup/value.h"\n#include "tierup/tensor/ivalue.h"\n',
            }
            for path, text in texts.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            found = check_layers.check(root)
        self.assertEqual(found, ["tierup/cases/b.h:2: the command may not reach tierup/tensor/ivalue.h"])

    def test_downward_include_is_fine(self):
        self.assertEqual(self.problems("tierup/ir/a.h", '#include "tierup/tensor/tensor.h"\n'), [])


if __name__ == "__main__":
    unittest.main()
