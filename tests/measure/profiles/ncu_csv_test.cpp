// Nsight Compute's tables in every dialect: raw, details and summary pages, units, locales, lines of others, cells that hold
// nothing; and each way in which a table can be damaged.
#include "rafter/measure/profiles/ncu_csv.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/profile_files.h"

namespace rafter {
namespace {

using test::csv_row;
using test::details_row;
using test::details_titles;
using test::expect_input_error;

Profile read(const std::string& text) { return read_ncu_csv(text, "p.csv"); }
KernelRecord only(const std::string& text) {
  const Profile profile = read(text);
  EXPECT_EQ(profile.kernels.size(), 1u);
  return profile.kernels.at(0);
}

// A raw page of two kernels in the units given: 2 us and 1 ms, 4 MB and 1 GB read, half as much written.
std::string raw(std::string_view time_unit, std::string_view byte_unit, std::initializer_list<std::string_view> first,
                std::initializer_list<std::string_view> second) {
  std::string text = csv_row({"ID", "Process ID", "Kernel Name", "Stream", "Block Size", "Grid Size", "Device", "CC",
                              "gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
                              "dram__throughput.avg.pct_of_peak_sustained_elapsed", "launch__registers_per_thread"});
  text += csv_row({"", "", "", "", "", "", "", "", time_unit, byte_unit, byte_unit, "%", "register/thread"});
  const auto row = [&](std::string_view id, std::string_view name, std::initializer_list<std::string_view> values) {
    const auto* v = values.begin();
    text += csv_row({id, "71", name, "7", "(256, 1, 1)", "(132, 2, 1)", "0", "9.0", v[0], v[1], v[2], v[3], v[4]});
  };
  row("0", "void copy<float>(const float *, float *)", first);
  row("1", "void gemm(int)", second);
  return text;
}

void expect_two_kernels(const Profile& profile) {
  ASSERT_EQ(profile.kernels.size(), 2u);
  const KernelRecord& first = profile.kernels[0];
  EXPECT_EQ(first.name, "void copy<float>(const float *, float *)");
  EXPECT_EQ(first.short_name, "copy");
  EXPECT_EQ(first.dtype, "f32");
  EXPECT_EQ(first.block, (Dim3{256, 1, 1}));
  EXPECT_EQ(first.grid, (Dim3{132, 2, 1}));
  EXPECT_EQ(first.stream, 7);
  EXPECT_EQ(first.device, 0);
  EXPECT_EQ(first.launches, 1);
  EXPECT_DOUBLE_EQ(first.seconds.value(), 2e-6);
  EXPECT_DOUBLE_EQ(first.dram_bytes_read.value(), 4e6);
  EXPECT_DOUBLE_EQ(first.dram_bytes_written.value(), 2e6);
  EXPECT_DOUBLE_EQ(first.dram_bytes().value(), 6e6);
  EXPECT_DOUBLE_EQ(first.dram_percent.value(), 45.5);
  EXPECT_DOUBLE_EQ(first.registers_per_thread.value(), 32);
  EXPECT_FALSE(first.l2_bytes.has_value()) << "not in the file";
  EXPECT_DOUBLE_EQ(profile.kernels[1].seconds.value(), 1e-3);
  EXPECT_DOUBLE_EQ(profile.kernels[1].dram_bytes_read.value(), 1e9);
}

TEST(NcuCsv, RawPageInBaseUnits) {
  expect_two_kernels(read(raw("nsecond", "byte", {"2,000", "4,000,000", "2,000,000", "45.5", "32"},
                              {"1,000,000", "1,000,000,000", "500,000,000", "80.25", "168"})));
}

TEST(NcuCsv, RawPageInScaledUnits) {
  expect_two_kernels(
      read(raw("us", "Mbyte", {"2.00", "4.00", "2.00", "45.50", "32"}, {"1,000.00", "1,000.00", "500.00", "80.25", "168"})));
  expect_two_kernels(
      read(raw("msecond", "Gbyte", {"0.002", "0.004", "0.002", "45.5", "32"}, {"1", "1", "0.5", "80.25", "168"})));
  expect_two_kernels(read(
      raw("second", "Kbyte", {"0.000002", "4,000", "2,000", "45.5", "32"}, {"0.001", "1,000,000", "500,000", "80.25", "168"})));
}

TEST(NcuCsv, EveryLocale) {
  expect_two_kernels(read(raw("nsecond", "byte", {"2.000", "4.000.000", "2.000.000", "45,5", "32"},
                              {"1.000.000", "1.000.000.000", "500.000.000", "80,25", "168"})));
  const std::string narrow = "\xe2\x80\xaf", wide = "\xc2\xa0";
  const std::string thousands = "2" + narrow + "000", millions = "4" + narrow + "000" + narrow + "000";
  const std::string wide_million = "1" + wide + "000" + wide + "000";
  expect_two_kernels(read(raw("nsecond", "byte", {thousands, millions, "2000000", "45,5", "32"},
                              {wide_million, "1 000 000 000", "500000000", "80,25", "168"})));
  expect_two_kernels(read(raw("nsecond", "byte", {"2'000", "4'000'000", "2'000'000", "45.5", "32"},
                              {"1'000'000", "1'000'000'000", "500'000'000", "80.25", "168"})));
}

TEST(NcuCsv, AnUnclearNumberIsSettledByOtherCellsOrRemarked) {
  const std::string unclear = details_titles() + details_row("0", "k", "gpu__time_duration.sum", "nsecond", "1,234");
  const Profile guess = read(unclear);
  EXPECT_DOUBLE_EQ(guess.kernels[0].seconds.value(), 1234e-9);
  ASSERT_EQ(guess.remarks.size(), 1u);
  EXPECT_NE(guess.remarks[0].find("'1,234' can be read two ways"), std::string::npos) << guess.remarks[0];
  // A metric that nobody asks for tells.
  const Profile told = read(unclear + details_row("0", "k", "L1/TEX Hit Rate", "%", "12,5"));
  EXPECT_DOUBLE_EQ(told.kernels[0].seconds.value(), 1.234e-9);
  EXPECT_TRUE(told.remarks.empty());
}

TEST(NcuCsv, DetailsPageByDisplayNames) {
  const std::string name = "gemm";
  std::string text = details_titles();
  text += details_row("0", name, "Duration", "us", "12.50");
  text += details_row("0", name, "SM Frequency", "cycle/nsecond", "1.98");
  text += details_row("0", name, "Memory Throughput", "%", "61.0");
  text += details_row("0", name, "Memory Throughput", "Gbyte/second", "2,400.00");
  text += details_row("0", name, "DRAM Throughput", "%", "55.00");
  text += details_row("0", name, "L2 Cache Throughput", "%", "33.00");
  text += details_row("0", name, "L1/TEX Cache Throughput", "%", "22.00");
  text += details_row("0", name, "Compute (SM) Throughput", "%", "44.00");
  text += details_row("0", name, "Registers Per Thread", "register/thread", "168");
  text += details_row("0", name, "Achieved Occupancy", "%", "18.75");
  text += details_row("0", name, "Theoretical Occupancy", "%", "25");
  text += details_row("0", name, "Waves Per SM", "", "0.50");
  text += details_row("0", name, "", "", "");  // the row of a rule
  const KernelRecord kernel = only(text);
  EXPECT_DOUBLE_EQ(kernel.seconds.value(), 12.5e-6);
  EXPECT_DOUBLE_EQ(kernel.sm_clock_hz.value(), 1.98e9);
  EXPECT_DOUBLE_EQ(kernel.dram_bytes_per_second.value(), 2.4e12);
  EXPECT_DOUBLE_EQ(kernel.dram_bytes().value(), 3e7) << "rate times time";
  EXPECT_DOUBLE_EQ(kernel.dram_percent.value(), 55);
  EXPECT_DOUBLE_EQ(kernel.l2_percent.value(), 33);
  EXPECT_DOUBLE_EQ(kernel.l1_percent.value(), 22);
  EXPECT_DOUBLE_EQ(kernel.sm_percent.value(), 44);
  EXPECT_DOUBLE_EQ(kernel.registers_per_thread.value(), 168);
  EXPECT_DOUBLE_EQ(kernel.achieved_occupancy.value(), 18.75);
  EXPECT_DOUBLE_EQ(kernel.theoretical_occupancy.value(), 25);
  EXPECT_DOUBLE_EQ(kernel.waves_per_sm.value(), 0.5);
}

TEST(NcuCsv, DetailsPageKeepsLaunchesAndProcessesApart) {
  std::string text =
      details_titles() + details_row("0", "k", "Duration", "ns", "100") + details_row("1", "k", "Duration", "ns", "300");
  const Profile profile = read(text);
  ASSERT_EQ(profile.kernels.size(), 2u);
  EXPECT_DOUBLE_EQ(profile.kernels[1].seconds.value(), 300e-9);
}

TEST(NcuCsv, SummaryOfManyLaunches) {
  std::string text = csv_row({"Process ID", "Kernel Name", "Block Size", "Grid Size", "Device", "CC", "Invocations",
                              "Section Name", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average"});
  text += csv_row(
      {"71", "k", "(128, 1, 1)", "(96, 1, 1)", "0", "9.0", "3", "S", "gpu__time_duration.sum", "ns", "900", "1100.5", "1000"});
  text += csv_row({"71", "k", "(128, 1, 1)", "(96, 1, 1)", "0", "9.0", "3", "S",
                   "sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "10", "20", "15"});
  const KernelRecord kernel = only(text);
  EXPECT_EQ(kernel.launches, 3);
  EXPECT_DOUBLE_EQ(kernel.seconds.value(), 3e-6);
  EXPECT_DOUBLE_EQ(kernel.seconds_per_launch().value(), 1e-6);
  EXPECT_DOUBLE_EQ(kernel.sm_percent.value(), 15) << "no total";
}

TEST(NcuCsv, LinesOfOthersArePassedOver) {
  std::string text = "==PROF== Connected to process 71 (/opt/app)\nResult = PASS\n==WARNING== clocks were locked\n";
  text += details_titles() + "step 1, loss 2.5\n" + details_row("0", "a", "Duration", "ns", "100.5");
  text += "==PROF== Profiling \"b\": 0%....100%\n\n\"quoted by the program\"\n\"unclosed\n";
  text += "no line break after this" + details_row("1", "b", "Duration", "ns", "200.5");
  const Profile profile = read(text);
  ASSERT_EQ(profile.kernels.size(), 2u);
  EXPECT_EQ(profile.kernels[1].name, "b");
  EXPECT_DOUBLE_EQ(profile.kernels[1].seconds.value(), 200.5e-9);
  ASSERT_EQ(profile.remarks.size(), 1u);
  EXPECT_NE(profile.remarks[0].find("3 lines of other output"), std::string::npos) << profile.remarks[0];
}

TEST(NcuCsv, TitlesThatComeAgainCountAnew) {
  const std::string once =
      raw("us", "Mbyte", {"2.00", "4.00", "2.00", "45.50", "32"}, {"1,000.00", "1,000.00", "500.00", "80.25", "168"});
  const std::string again = raw("nsecond", "byte", {"2,000", "4,000,000", "2,000,000", "45.5", "32"},
                                {"1,000,000", "1,000,000,000", "500,000,000", "80.25", "168"});
  const Profile profile = read(once + again);
  ASSERT_EQ(profile.kernels.size(), 4u);
  EXPECT_DOUBLE_EQ(profile.kernels[2].seconds.value(), 2e-6);
}

TEST(NcuCsv, CellsThatHoldNothingAreUnknown) {
  for (const std::string_view nothing : {"N/A", "n/a", "nan", "", " ", "-", "inf"}) {
    const KernelRecord kernel = only(details_titles() + details_row("0", "k", "Duration", "ns", nothing) +
                                     details_row("0", "k", "Achieved Occupancy", "%", nothing));
    EXPECT_FALSE(kernel.seconds.has_value()) << nothing;
    EXPECT_FALSE(kernel.achieved_occupancy.has_value()) << nothing;
  }
}

TEST(NcuCsv, AZeroDurationIsUnknownAndSaid) {
  const Profile profile = read(details_titles() + details_row("0", "k", "Duration", "ns", "0"));
  EXPECT_FALSE(profile.kernels[0].seconds.has_value());
  ASSERT_EQ(profile.remarks.size(), 1u);
  EXPECT_NE(profile.remarks[0].find("no kernel has a time"), std::string::npos);
}

TEST(NcuCsv, ATimeOrASizeWithoutAUnitIsUnknown) {
  const KernelRecord kernel = only(details_titles() + details_row("0", "k", "gpu__time_duration.sum", "", "100") +
                                   details_row("0", "k", "dram__bytes.sum", "parsec", "100"));
  EXPECT_FALSE(kernel.seconds.has_value());
  EXPECT_FALSE(kernel.dram_bytes().has_value());
}

TEST(NcuCsv, QuotesAndLineBreaksInsideCells) {
  const KernelRecord kernel = only(details_titles() + details_row("0", "f<\"a,b\">\n(int)", "Duration", "ns", "100.5"));
  EXPECT_EQ(kernel.name, "f<\"a,b\"> (int)") << "a line break in a name is a blank";
  EXPECT_DOUBLE_EQ(kernel.seconds.value(), 100.5e-9);
}

TEST(NcuCsv, TablesThatASpreadsheetSaved) {
  const std::string text = "\xef\xbb\xbfID;Kernel Name;Metric Name;Metric Unit;Metric Value\r\n0;k;Duration;us;12,5\r\n";
  EXPECT_DOUBLE_EQ(only(text).seconds.value(), 12.5e-6);
  EXPECT_DOUBLE_EQ(only("ID\tKernel Name\tMetric Name\tMetric Unit\tMetric Value\n0\tk\tDuration\tus\t12.5").seconds.value(),
                   12.5e-6);
  EXPECT_DOUBLE_EQ(only("\"ID\",\"Function Name\",\"gpu__time_duration.sum [ns]\"\n\"0\",\"k\",\"12.5\"\n").seconds.value(),
                   12.5e-9);
}

TEST(NcuCsv, FlopsBySum) {
  std::string text = details_titles();
  const auto row = [&](std::string_view metric, std::string_view value) {
    text += details_row("0", "k", metric, "inst", value);
  };
  row("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "10");
  row("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", "20");
  row("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "100");
  row("smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", "100");
  row("smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", "100");
  const KernelRecord kernel = only(text);
  EXPECT_EQ(kernel.fp32_flops, 230.0);
  EXPECT_FALSE(kernel.fp64_flops.has_value()) << "without dadd and dmul the sum is not known";
  EXPECT_FALSE(kernel.fp16_flops.has_value());
}

TEST(NcuCsv, FlopsOfTheRooflineSectionArePerCycle) {
  std::string text = details_titles() + details_row("0", "k", "gpu__time_duration.sum", "us", "2") +
                     details_row("0", "k", "smsp__cycles_elapsed.avg.per_second", "Ghz", "1.5");
  const auto row = [&](std::string_view metric, std::string_view value) {
    text += details_row("0", "k", metric, "inst/cycle", value);
  };
  row("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed", "1");
  row("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed", "2");
  row("derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2", "7");
  row("derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2", "33792");  // the peak, not what was done
  EXPECT_DOUBLE_EQ(only(text).fp32_flops.value(), 10 * 1.5e9 * 2e-6);
}

TEST(NcuCsv, TensorFlopsByTheDtypeOfTheSources) {
  std::string text = details_titles();
  const auto row = [&](std::string_view metric, std::string_view value) { text += details_row("0", "k", metric, "", value); };
  row("sm__ops_path_tensor_src_bf16_dst_fp32.sum", "1000");
  row("sm__ops_path_tensor_src_fp16.sum", "500");
  row("sm__ops_path_tensor_src_fp16_dst_fp16.sum", "200");
  row("sm__ops_path_tensor_src_fp16_dst_fp32.sum", "300");
  row("sm__ops_path_tensor_src_fp8_dst_fp32.sum", "40");
  row("sm__ops_path_tensor_src_fp8_sparsity_off.sum", "40");
  row("sm__ops_path_tensor_src_int8.sum", "0");
  EXPECT_EQ(only(text).tensor_flops, (std::map<std::string, double>{{"bf16", 1000}, {"f16", 500}, {"fp8", 40}}));
}

TEST(NcuCsv, MemoryAccessesAreWorkedOutOfTheirParts) {
  std::string text = details_titles();
  const auto row = [&](std::string_view metric, std::string_view unit, std::string_view value) {
    text += details_row("0", "k", metric, unit, value);
  };
  row("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "", "30");
  row("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "", "10");
  row("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "", "100");
  row("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sector", "3200");
  row("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "request", "100");
  row("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "sector", "0");
  row("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "request", "0");
  row("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio", "byte/sector", "4");
  row("lts__t_sectors.sum", "sector", "1000");
  row("smsp__inst_executed_op_local_ld.sum", "inst", "5");
  row("smsp__inst_executed_op_local_st.sum", "inst", "7");
  const KernelRecord kernel = only(text);
  EXPECT_EQ(kernel.shared_conflicts, 40.0);
  EXPECT_EQ(kernel.shared_wavefronts, 100.0);
  EXPECT_EQ(kernel.sectors_per_load, 32.0);
  EXPECT_FALSE(kernel.sectors_per_store.has_value()) << "no stores, no ratio";
  EXPECT_EQ(kernel.sector_use_load, 12.5);
  EXPECT_EQ(kernel.global_sectors, 3200.0);
  EXPECT_EQ(kernel.wasted_sectors, 2800.0);
  EXPECT_EQ(kernel.l2_bytes, 32000.0);
  EXPECT_EQ(kernel.local_instructions, 12.0);
}

TEST(NcuCsv, WastedSectorsOfBothWaysOrOfNone) {
  const auto row = [](std::string_view metric, std::string_view value) {
    return details_row("0", "k", metric, "sector", value);
  };
  const std::string loads = details_titles() + row("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "1000") +
                            row("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio", "16");
  EXPECT_FALSE(only(loads).global_sectors.has_value()) << "nothing is known of the stores";
  const std::string both = loads + row("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "600");
  EXPECT_FALSE(only(both).wasted_sectors.has_value()) << "600 sectors, and nothing of their use";
  const KernelRecord weighed = only(both + row("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio", "8"));
  EXPECT_EQ(weighed.global_sectors, 1600.0);
  EXPECT_EQ(weighed.wasted_sectors, 950.0) << "half of 1000 and three quarters of 600";
  // The use of asynchronous copies is 0 in the file, for unknown; the profiler's own count has them.
  const std::string copies =
      row("memory_l2_theoretical_sectors_global", "4000") + row("memory_l2_theoretical_sectors_global_ideal", "3000");
  EXPECT_EQ(only(both + copies).wasted_sectors, 1000.0);
}

TEST(NcuCsv, L2IsNoBusierThanTheProfilersVerdictOnMemory) {
  const auto row = [](std::string_view metric, std::string_view unit, std::string_view value) {
    return details_row("0", "k", metric, unit, value);
  };
  const std::string l2 = details_titles() + row("L2 Cache Throughput", "%", "60.85");
  EXPECT_EQ(only(l2).l2_percent, 60.85);
  EXPECT_EQ(only(l2 + row("Memory Throughput", "Tbyte/s", "2.36")).l2_percent, 60.85) << "a rate is no percentage";
  EXPECT_EQ(only(l2 + row("Memory Throughput", "%", "49.07")).l2_percent, 49.07);
  EXPECT_EQ(only(l2 + row("Memory Throughput", "%", "70.09")).l2_percent, 60.85);
}

TEST(NcuCsv, EveryTruncationIsReadOrRefused) {
  const std::string whole = raw("nsecond", "byte", {"2,000", "4,000,000", "2,000,000", "45.5", "32"},
                                {"1,000,000", "1,000,000,000", "500,000,000", "80.25", "168"});
  size_t read_whole = 0;
  for (size_t length = 0; length < whole.size(); ++length) {
    try {
      const Profile profile = read(whole.substr(0, length));
      // What is read is whole: a row that was cut off is never taken.
      for (const KernelRecord& kernel : profile.kernels) {
        EXPECT_TRUE(kernel.registers_per_thread == 32.0 || kernel.registers_per_thread == 168.0) << length;
      }
      ++read_whole;
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::input);
      EXPECT_NE(std::string(error.what()).find("p.csv"), std::string::npos);
    }
  }
  EXPECT_LE(read_whole, 4u) << "only cuts next to the end of a row";
}

TEST(NcuCsv, DamageIsNamedByLineAndColumn) {
  expect_input_error([] { read(details_titles() + "\"0\",\"71\",\"app"); },
                     {"p.csv", "line 2, column 10", "cut off", "closing quote"});
  expect_input_error([] { read(details_titles() + "\"0\",\"71\",\"app\"\n"); },
                     {"p.csv", "line 2", "cell 3", "column 10", "15 cells"});
  expect_input_error([] { read(details_titles()); }, {"p.csv", "line 1", "without a row"});
  expect_input_error([] { read("==PROF== Connected\nhello\n"); }, {"p.csv", "line 1", "Kernel Name", "--page raw --csv"});
  expect_input_error([] { read(std::string("\xff\xfe\"\0I\0", 6)); }, {"p.csv", "UTF-16", "UTF-8"});
}

}  // namespace
}  // namespace rafter
