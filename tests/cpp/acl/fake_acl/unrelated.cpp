// A shared library that has nothing to do with ACL.
extern "C" [[gnu::visibility("default")]] int unrelated() { return 1; }
