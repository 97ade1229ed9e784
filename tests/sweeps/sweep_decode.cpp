// Times the decode kernels' configurations on this machine's GPU, checking each against a double reference.
//   sweep_decode matmul --filter "1.5b qkv" --tokens 1,8 --json out.json
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>

#include "tests/sweeps/sweep.h"

int main(int argc, char** argv) {
  using namespace rafter;
  CLI::App app{"Times the decode kernels' configurations on a GPU"};
  std::vector<std::string> parts = {"matmul", "attention", "chain"};
  std::string json;
  sweeps::Options options;
  app.add_option("parts", parts, "matmul, attention, chain; all by default");
  app.add_option("--filter", options.filter, "only shapes whose name holds this");
  app.add_option("--tokens", options.tokens, "rows of activations of the matmuls")->delimiter(',');
  app.add_option("--repeats", options.repeats, "replays of each graph");
  app.add_option("--json", json, "where to write every row");
  CLI11_PARSE(app, argc, argv);
  if (cuda_status().devices == 0) {
    fmt::print(stderr, "sweep_decode: no GPU: {}\n", cuda_status().reason);
    return 1;
  }
  try {
    const auto stream = device({DeviceKind::cuda, 0}).make_stream();
    std::vector<sweeps::Row> rows;
    for (const std::string& part : parts) {
      if (part == "matmul") sweeps::sweep_matmul(*stream, options, rows);
      if (part == "attention") sweeps::sweep_attention(*stream, options, rows);
      if (part == "chain") sweeps::sweep_chain(*stream, options, rows);
    }
    auto list = nlohmann::json::array();
    int wrong = 0;
    for (const sweeps::Row& row : rows) {
      list.push_back(sweeps::to_json(row));
      wrong += row.fault.empty() ? 0 : 1;
    }
    if (!json.empty()) std::ofstream(json) << list.dump(1) << '\n';
    fmt::print("{} rows, {} wrong\n", rows.size(), wrong);
    return wrong == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "sweep_decode: {}\n", error.what());
    return 1;
  }
}
