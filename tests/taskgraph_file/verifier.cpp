// verifier FILE...: one line per file, "1" if flatbuffers::Verifier accepts it as a TaskGraph, else "0".
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "taskgraph_generated.h"

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::vector<char> data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    flatbuffers::Verifier::Options options;
    options.max_tables = 100000000;  // the file, not the default of a million, is the limit
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(data.data()), data.size(), options);
    std::puts(verifier.VerifyBuffer<FlatBufTaskGraph::TaskGraph>(nullptr) ? "1" : "0");
  }
}
