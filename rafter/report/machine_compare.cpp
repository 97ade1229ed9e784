// Two machines side by side: which figures changed, by the intervals of both measurements.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "rafter/base/json_value.h"
#include "rafter/base/units.h"
#include "rafter/report/machine_report.h"
#include "rafter/report/table.h"

namespace rafter {

namespace {

constexpr double kRateTolerance = 0.02, kTimeTolerance = 0.05;
constexpr std::array<std::string_view, 6> kNames = {"same", "faster", "slower", "unclear", "larger", "smaller"};

bool is_rate(const Figure& f) { return f.unit.ends_with("/s"); }

Change change_of(const Figure& a, const Figure& b) {
  switch (compare(a.value, b.value, is_rate(a) ? kRateTolerance : kTimeTolerance)) {
    case Verdict::same:
      return Change::same;
    case Verdict::higher:
      return a.unit == "s" ? Change::slower : is_rate(a) ? Change::faster : Change::larger;
    case Verdict::lower:
      return a.unit == "s" ? Change::faster : is_rate(a) ? Change::slower : Change::smaller;
    case Verdict::unclear:
      break;
  }
  return Change::unclear;
}

std::map<std::string, const Figure*> by_key(const Machine& machine) {
  std::map<std::string, const Figure*> figures;
  for (const Figure& f : machine.figures) figures.emplace(f.key(), &f);
  return figures;
}

struct Counts {
  std::array<int64_t, kNames.size()> changes{};
  int64_t both = 0, only_a = 0, only_b = 0;
};

Counts count(const std::vector<FigurePair>& pairs) {
  Counts counts;
  for (const FigurePair& pair : pairs) {
    if (pair.a == nullptr || pair.b == nullptr) {
      (pair.a != nullptr ? counts.only_a : counts.only_b) += 1;
      continue;
    }
    ++counts.both;
    ++counts.changes[static_cast<size_t>(pair.change)];
  }
  return counts;
}

std::string_view verdict(const FigurePair& pair) {
  return pair.a == nullptr ? "only in B" : pair.b == nullptr ? "only in A" : name(pair.change);
}

std::string side_text(const char* side, const Machine& m) {
  return fmt::format("{}: {}, {}, commit {}{}\n", side, m.device.name, m.date.empty() ? "no date" : m.date,
                     m.commit.empty() ? "unknown" : m.commit.substr(0, 12), m.quick ? ", quick" : "");
}

std::string cell(const Figure* f) { return f == nullptr ? "-" : value_text(*f, f->value.median); }

Json side_json(const Machine& m) {
  const auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); };
  return {{"name", m.device.name}, {"uuid_hash", m.device.uuid_hash}, {"date", text(m.date)}, {"commit", text(m.commit)}};
}

}  // namespace

std::string_view name(Change change) { return kNames[static_cast<size_t>(change)]; }

std::vector<FigurePair> compare_machines(const Machine& a, const Machine& b) {
  std::vector<FigurePair> pairs;
  std::map<std::string, const Figure*> others = by_key(b);
  for (const Figure& f : a.figures) {
    const auto other = others.find(f.key());
    if (other == others.end()) {
      pairs.push_back({&f, nullptr});
      continue;
    }
    const Figure& g = *other->second;
    const bool comparable = f.unit == g.unit;
    pairs.push_back({&f, &g, comparable ? change_of(f, g) : Change::unclear,
                     comparable && f.value.median > 0 ? g.value.median / f.value.median : 0});
    others.erase(other);
  }
  for (const Figure& g : b.figures) {
    const auto left = others.find(g.key());
    if (left != others.end() && left->second == &g) pairs.push_back({nullptr, &g});
  }
  return pairs;
}

std::string compare_text(const Machine& a, const Machine& b, const std::vector<FigurePair>& pairs) {
  Table table({{"figure"}, {"A", Align::right}, {"B", Align::right}, {"B over A", Align::right}, {"verdict"}});
  for (const FigurePair& pair : pairs) {
    table.add({(pair.a != nullptr ? pair.a : pair.b)->key(), cell(pair.a), cell(pair.b),
               pair.ratio > 0 ? fmt::format("{:+.1f}%", 100 * (pair.ratio - 1)) : "-", std::string(verdict(pair))});
  }
  const Counts counts = count(pairs);
  std::string summary = fmt::format("{} in both:", counted(counts.both, "figure"));
  for (size_t i = 0; i < kNames.size(); ++i) {
    const bool always = i <= static_cast<size_t>(Change::unclear);
    if (always || counts.changes[i] > 0) summary += fmt::format("{} {} {}", i == 0 ? "" : ",", counts.changes[i], kNames[i]);
  }
  if (counts.only_a + counts.only_b > 0) summary += fmt::format("; {} only in A, {} only in B", counts.only_a, counts.only_b);
  const bool differ = a.device.uuid_hash != b.device.uuid_hash;
  return side_text("A", a) + side_text("B", b) + (differ ? "They are different devices.\n" : "") + '\n' + table.text() + '\n' +
         summary + ".\n";
}

std::string compare_json(const Machine& a, const Machine& b, const std::vector<FigurePair>& pairs) {
  Json json = {{"schema", "rafter.machine_compare/1"}, {"a", side_json(a)}, {"b", side_json(b)}};
  json["figures"] = Json::array();
  for (const FigurePair& pair : pairs) {
    const auto median = [](const Figure* f) { return f == nullptr ? Json(nullptr) : number_or_null(f->value.median); };
    const Figure& any = *(pair.a != nullptr ? pair.a : pair.b);
    json["figures"].push_back({{"figure", any.key()},
                               {"unit", any.unit},
                               {"a", median(pair.a)},
                               {"b", median(pair.b)},
                               {"ratio", known_or_null(pair.ratio)},
                               {"verdict", verdict(pair)}});
  }
  const Counts counts = count(pairs);
  Json& summary = json["summary"] = Json::object();
  for (size_t i = 0; i < kNames.size(); ++i) summary[std::string(kNames[i])] = counts.changes[i];
  summary["only_a"] = counts.only_a;
  summary["only_b"] = counts.only_b;
  return to_text(json);
}

}  // namespace rafter
