import pathlib
import tempfile
import unittest

import united_sources


class Groups(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def grouped(self, *texts, largest=10000):
        """The numbers of the texts that are compiled together."""
        paths = [pathlib.Path(self.folder.name) / f"{number}.cc" for number in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_text(f"namespace room {{\n{text}\n}}  // namespace room\n")
        made = united_sources.groups([united_sources.Source(path, self.folder.name) for path in paths], largest)
        return [[paths.index(source.path) for source in group] for group in made]

    @staticmethod
    def unnamed(text):
        return f"namespace {{\n{text}\n}}  // namespace"

    def test_files_that_share_no_name_are_together(self):
        self.assertEqual(self.grouped(self.unnamed("int first() {"), self.unnamed("int second() {")), [[0, 1]])

    def test_what_two_files_keep_to_themselves_is_kept_apart(self):
        for text in ("int f() {", "constexpr int kF = 1;", "struct F {", "template <typename T>\nT f(T x) {"):
            self.assertEqual(self.grouped(self.unnamed(text), self.unnamed(text)), [[0], [1]], text)
        self.assertEqual(self.grouped("static int f() {", "static int f() {"), [[0], [1]])
        self.assertEqual(self.grouped("#define F", "#define F"), [[0], [1]])

    def test_a_call_finds_no_function_of_another_file(self):
        self.assertEqual(self.grouped(self.unnamed("int f(double x) {"), "int g() {\n  return f(1);\n}"), [[0], [1]])
        self.assertEqual(self.grouped(self.unnamed("int f(double x) {"), "int g(A a) {\n  return a.f(1) + b::f(1);\n}"),
                         [[0, 1]])

    def test_public_functions_disturb_nobody(self):
        self.assertEqual(self.grouped(self.unnamed("int a() {") + "\nint f() {\n}", "int g() {\n  return f();\n}"),
                         [[0, 1]])

    def test_a_name_of_another_files_header_is_kept_apart(self):
        (pathlib.Path(self.folder.name) / "outer.h").write_text('#include "inner.h"\n')
        (pathlib.Path(self.folder.name) / "inner.h").write_text("using Operands = int;\n")
        own = self.unnamed("struct Operands {")
        self.assertEqual(self.grouped('#include "outer.h"', own), [[0], [1]])
        # In another namespace, since the file compiles.
        self.assertEqual(self.grouped('#include "outer.h"', '#include "inner.h"\n' + own), [[0, 1]])

    def test_an_alias_means_one_thing(self):
        self.assertEqual(self.grouped("namespace k = kernels;", "namespace k = kernels;"), [[0, 1]])
        self.assertEqual(self.grouped("namespace k = kernels;", "namespace k = other;"), [[0], [1]])
        self.assertEqual(self.grouped("using a::Node;", "using b::Node;"), [[0], [1]])

    def test_what_a_family_calls_the_same_is_told_apart(self):
        rows = self.unnamed("constexpr Row kRows[] = {")
        self.assertEqual(self.grouped(rows, rows), [[0, 1]])
        sources = [united_sources.Source(pathlib.Path(self.folder.name) / f"{n}.cc", self.folder.name) for n in (0, 1)]
        text = united_sources.united(sources, self.folder.name)
        self.assertIn('#define kRows kRows_1\n#include "1.cc"\n#undef kRows\n', text)

    def test_a_group_is_no_larger_than_asked(self):
        self.assertEqual(self.grouped("int a();", "int b();", "int c();", largest=100), [[0, 1], [2]])


if __name__ == "__main__":
    unittest.main()
