// libtierup.so is made of the rooms' archives; a shared library needs one source of its own.
namespace tierup {
extern const char* const kLibraryName;
const char* const kLibraryName = "tierup";
}  // namespace tierup
