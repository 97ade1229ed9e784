#include "rafter/machine/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace rafter {
namespace {

// Within +-1 of `middle`, in an order that goes nowhere.
std::vector<Sample> around(double middle, int count, double amplitude = 1) {
  std::vector<Sample> samples;
  for (int i = 0; i < count; ++i) samples.push_back({middle + amplitude * std::sin(2.4 * i), 0});
  return samples;
}

Series series_of(const std::vector<Sample>& samples) { return summarise_samples(samples, {}).series; }

TEST(Estimate, OfASteadySeries) {
  const Estimate e = summarise_samples(around(1000, 30), {});
  EXPECT_NEAR(e.median, 1000, 0.2);
  EXPECT_GT(e.iqr, 0.5);
  EXPECT_LT(e.iqr, 2);
  EXPECT_EQ(e.samples, 30);
  EXPECT_EQ(e.throttled, 0);
  EXPECT_EQ(e.clock_hz, 0);
  EXPECT_EQ(e.series, Series::steady);
}

TEST(Estimate, ASeriesThatClimbsDrifts) {
  std::vector<Sample> samples = around(1000, 30);
  EXPECT_EQ(series_of(samples), Series::steady);
  for (int i = 0; i < 30; ++i) samples[static_cast<size_t>(i)].value += 3 * i;  // 9% in all
  EXPECT_EQ(series_of(samples), Series::drifting);
}

TEST(Estimate, TwoGroupsInTurnAreBimodal) {
  std::vector<Sample> samples = around(1000, 30);
  for (size_t i = 0; i < samples.size(); i += 2) samples[i].value += 100;
  EXPECT_EQ(series_of(samples), Series::bimodal);
}

TEST(Estimate, AWideSpreadIsNoisy) { EXPECT_EQ(series_of(around(1000, 40, 200)), Series::noisy); }

TEST(Estimate, OneOutlierMovesNothing) {
  std::vector<Sample> samples = around(1000, 30);
  const Estimate before = summarise_samples(samples, {});
  samples[7].value = 50000;
  const Estimate after = summarise_samples(samples, {});
  EXPECT_EQ(after.series, Series::steady);
  EXPECT_NEAR(after.median, before.median, 0.3);
  EXPECT_NEAR(after.iqr, before.iqr, 0.3);
}

TEST(Estimate, FewSamplesHaveNoShape) {
  EXPECT_EQ(series_of({{1000, 0}, {1001, 0}, {1002, 0}, {1100, 0}}), Series::steady);
  EXPECT_EQ(summarise_samples(std::vector<Sample>{}, {}).samples, 0);
}

TEST(Estimate, AZeroMedianDividesNothing) {
  const Estimate e = summarise_samples(std::vector<Sample>(20, Sample{0, 0}), {});
  EXPECT_EQ(e.median, 0);
  EXPECT_EQ(e.series, Series::steady);
}

TEST(Estimate, ValuesThatAreNotFiniteAreNotCounted) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Estimate e = summarise_samples(std::vector<Sample>{{inf, 0}, {5, 0}, {nan, 0}, {7, 0}}, {});
  EXPECT_EQ(e.samples, 2);
  EXPECT_EQ(e.median, 6);
}

// A GPU of 1 GHz: samples under 750 MHz are slow.
std::vector<Sample> with_slow(int good, int slow) {
  std::vector<Sample> samples;
  for (int i = 0; i < slow; ++i) samples.push_back({500, 0.5e9});
  for (int i = 0; i < good; ++i) samples.push_back({1000, 0.99e9});
  return samples;
}

TEST(Estimate, ThrottledSamplesAreDiscardedAndCounted) {
  const Estimate e = summarise_samples(with_slow(10, 4), {}, 1e9);
  EXPECT_EQ(e.samples, 10);
  EXPECT_EQ(e.throttled, 4);
  EXPECT_EQ(e.median, 1000);
  EXPECT_EQ(e.clock_hz, 0.99e9);
}

TEST(Estimate, NothingIsDiscardedWhereTheDefaultClockIsUnknown) {
  const Estimate e = summarise_samples(with_slow(10, 4), {});
  EXPECT_EQ(e.samples, 14);
  EXPECT_EQ(e.throttled, 0);
}

TEST(Estimate, PastTheCapThrottledSamplesAreKept) {
  StopRule rule;
  rule.most_throttled = 6;
  const Estimate e = summarise_samples(with_slow(3, 20), rule, 1e9);
  EXPECT_EQ(e.samples, 17);  // all but six
  EXPECT_EQ(e.throttled, 20);
  EXPECT_EQ(e.median, 500);
  EXPECT_EQ(e.clock_hz, 0.5e9);
}

TEST(Estimate, WhereAllAreThrottledTheyAreWhatThereIs) {
  const Estimate e = summarise_samples(with_slow(0, 5), {}, 1e9);
  EXPECT_EQ(e.samples, 5);
  EXPECT_EQ(e.throttled, 5);
  EXPECT_EQ(e.median, 500);
}

TEST(Estimate, NamesOfSeriesGoBothWays) {
  for (const Series series : {Series::steady, Series::noisy, Series::drifting, Series::bimodal}) {
    EXPECT_EQ(series_named(name(series)), series);
  }
  EXPECT_EQ(series_named("wild"), Series::steady);
}

// A clock that each sample moves on by `step`, and samples that `value` makes up from their number.
struct Taking {
  double now = 0, step = 0.01;
  int64_t taken = 0;
  Estimate of(const StopRule& rule, const std::function<Sample(int64_t)>& value, double default_clock_hz = 0) {
    const auto take = [&] {
      now += step;
      return value(taken++);
    };
    return measure(take, rule, default_clock_hz, [&] { return now; });
  }
};

TEST(Measure, StopsAtTheSpreadWhenTheLeastIsDone) {
  Taking run;
  const Estimate e = run.of({}, [](int64_t) { return Sample{100, 0}; });
  EXPECT_EQ(e.median, 100);
  EXPECT_GE(run.now, 0.5);  // least_seconds, at 10 ms each
  EXPECT_LT(run.now, 0.7);
  EXPECT_EQ(e.samples, run.taken);
}

TEST(Measure, TakesTheLeastSamplesHoweverLongTheyLast) {
  Taking run;
  run.step = 1;
  EXPECT_EQ(run.of({}, [](int64_t) { return Sample{100, 0}; }).samples, 10);
}

TEST(Measure, StopsWhereAWideSpreadHasSettled) {
  Taking run;
  const Estimate e = run.of({}, [](int64_t i) { return Sample{i % 2 == 0 ? 90.0 : 110.0, 0}; });
  EXPECT_GT(e.iqr / e.median, 0.1);
  EXPECT_LT(run.now, 2);
}

TEST(Measure, StopsAtTheCapWhereTheSpreadKeepsGrowing) {
  Taking run;
  const Estimate e = run.of({}, [](int64_t i) { return Sample{std::exp2(0.05 * static_cast<double>(i)), 0}; });
  EXPECT_GE(run.now, 15);
  EXPECT_LT(run.now, 15.1);
  EXPECT_EQ(e.series, Series::drifting);
}

TEST(Measure, TakesThrottledSamplesAgain) {
  Taking run;
  const Estimate e = run.of(
      {},
      [](int64_t i) {
        return i < 60 ? Sample{50, 0.4e9} : Sample{100, 1e9};
      },
      1e9);
  EXPECT_EQ(e.median, 100);
  EXPECT_EQ(e.throttled, 60);
  EXPECT_GE(e.samples, 10);
}

TEST(Measure, GivesUpOnTheClockAtTheCap) {
  Taking run;
  const Estimate e = run.of(
      {},
      [](int64_t) {
        return Sample{50, 0.4e9};
      },
      1e9);
  EXPECT_EQ(e.median, 50);
  EXPECT_EQ(e.throttled, run.taken);
  EXPECT_GE(e.samples, 10);
  EXPECT_LT(run.now, 2);  // a hundred discarded at 10 ms each, then the least
}

TEST(Measure, AZeroMedianStops) {
  Taking run;
  EXPECT_EQ(run.of({}, [](int64_t) { return Sample{0, 0}; }).median, 0);
  EXPECT_LT(run.now, 1);
}

Estimate known(double median, double iqr) { return {median, iqr, 20, 0, 0, Series::steady}; }

TEST(Compare, IsSameWithinTheTolerance) {
  EXPECT_EQ(compare(known(100, 1), known(101, 1), 0.02), Verdict::same);
  EXPECT_EQ(compare(known(100, 1), known(99, 1), 0.02), Verdict::same);
}

TEST(Compare, IsHigherOrLowerWhereTheNotchesPart) {
  EXPECT_EQ(compare(known(100, 1), known(110, 1), 0.02), Verdict::higher);
  EXPECT_EQ(compare(known(100, 1), known(90, 1), 0.02), Verdict::lower);
  EXPECT_EQ(compare(known(100, 20), known(110, 19), 0.02), Verdict::higher);   // 1.57 / sqrt(20) = 0.35: to within 9.7
  EXPECT_EQ(compare(known(100, 20), known(110, 21), 0.02), Verdict::unclear);  // to within 10.2
}

TEST(Compare, IsUnclearWhereTheyOverlap) {
  EXPECT_EQ(compare(known(100, 30), known(110, 30), 0.02), Verdict::unclear);
  EXPECT_EQ(compare(known(100, 50), known(101, 50), 0.02), Verdict::unclear);  // close, but nobody knows
}

TEST(Compare, MoreSamplesMakeAWideSpreadClear) {
  Estimate few = known(100, 10), many = few;
  many.samples = 2000;
  EXPECT_EQ(compare(few, few, 0.02), Verdict::unclear);
  EXPECT_EQ(compare(many, many, 0.02), Verdict::same);
}

TEST(Compare, SamplesThatDriftOrSplitTellNoMoreByBeingMany) {
  for (const Series series : {Series::drifting, Series::bimodal}) {
    Estimate a = known(100, 11), b = known(110, 11);
    a.series = series;
    EXPECT_EQ(compare(a, b, 0.02), Verdict::unclear);
  }
}

TEST(Compare, ZeroAndWhatIsNoNumberAreNeverFaster) {
  EXPECT_EQ(compare(known(0, 0), known(0, 0), 0.02), Verdict::same);
  EXPECT_EQ(compare(known(0, 0), known(5, 0), 0.02), Verdict::unclear);
  EXPECT_EQ(compare(known(5, 0), known(std::nan(""), 0), 0.02), Verdict::unclear);
}

}  // namespace
}  // namespace rafter
