#include "rafter/report/page.h"

#include <gtest/gtest.h>

#include <limits>

#include "rafter/report/page_assets.h"
#include "rafter/report/page_text.h"

namespace rafter {
namespace {

size_t count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// The page without what is the same in every page.
std::string own_part(std::string page) {
  for (const std::string_view asset : {kPageStyle.text, kPageScript.text, kChartLibrary.text}) {
    if (!asset.empty()) page.erase(page.find(asset), asset.size());
  }
  return page;
}

// The JSON of the only chart.
Json only_chart(const std::string& page) {
  const std::string_view start = "<script type=\"application/json\">";
  const size_t from = page.find(start) + start.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST(HtmlText, MarkupBecomesText) {
  EXPECT_EQ(html_text("<a href=\"x\" b='y'>&amp;"), "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;");
}

TEST(HtmlText, WhatHasNoLooksIsMadeVisible) {
  EXPECT_EQ(html_text(std::string_view("a\0b\x1b\n\x7f", 6)), "a\\x00b\\x1b\\x0a\\x7f");
  EXPECT_EQ(html_text("\u2028\u2029\u202e"), "\\u2028\\u2029\\u202e");
  EXPECT_EQ(html_text("\xff µ"), "\\xff µ");
}

TEST(JsonBlock, NothingInItEndsTheBlock) {
  const Json document = {{"</script><!--", "\u2028&\xff"}};
  const std::string block = json_block(document);
  EXPECT_EQ(block, "{\"\\u003c/script\\u003e\\u003c!--\":\"\\u2028\\u0026\uFFFD\"}");
  EXPECT_TRUE(Json::parse(block).contains("</script><!--"));
}

// SHA-256 of nothing, and how it stands in a policy.
TEST(HashSource, IsBase64OfTheHash) {
  EXPECT_EQ(hash_source("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
}

TEST(Page, EveryTextIsEscaped) {
  const std::string bad = "</script><img src=x onerror=alert(1)>\"'";
  Table table({{bad}, {bad, Align::right}});
  table.add({bad, bad});
  const LineChart lines{bad, {bad, bad}, {bad, bad}, {{bad, {{1, 1}}}}, {{1, bad}}, {{1, bad}}};
  const RooflineChart roofs{bad, {{bad, 1}}, {{bad, 1}}, {{bad, bad, 1, 1, 1, bad, {bad}}}};
  const std::string page = html({bad, bad, {{bad, {Paragraph{bad}, CaptionedTable{bad, table}, lines, roofs}}}});
  EXPECT_EQ(count(page, "<img"), 0u);
  const size_t scripts = pages_have_charts() ? 4 : 3;  // Chart.js, the module, the data of two charts
  EXPECT_EQ(count(page, "<script"), scripts);
  EXPECT_EQ(count(page, "</script"), scripts);
  EXPECT_EQ(only_chart(page)["title"], bad);
}

TEST(Page, TablesKeepTheirOrderAndAlignment) {
  Table table({{"op"}, {"time", Align::right}});
  table.add({"embed", "1.50 us"});
  const std::string page = html({"t", "", {{"s", {CaptionedTable{"Ops", table}}}}});
  EXPECT_TRUE(has(page, "<caption>Ops</caption>"));
  EXPECT_TRUE(has(page, "<th scope=\"col\">op</th><th scope=\"col\" class=\"number\">time</th>"));
  EXPECT_TRUE(has(page, "<tr><td>embed</td><td class=\"number\">1.50 us</td></tr>"));
}

TEST(Page, NamesNothingOutsideItself) {
  const std::string page =
      html({"t", "s", {{"a", {Paragraph{"p"}, RooflineChart{"r", {{"DRAM", 4e12}}, {{"FP32", 6e13}}, {}}}}}});
  for (const char* part : {" src=", "href=\"http", "<link", "<iframe", "<base", "<form"})
    EXPECT_FALSE(has(own_part(page), part)) << part;
  for (const char* part : {"url(", "@import"}) EXPECT_FALSE(has(std::string(kPageStyle.text), part)) << part;
  EXPECT_TRUE(has(page, "default-src 'none'"));
  EXPECT_FALSE(has(page, "unsafe-inline"));
  EXPECT_TRUE(has(page, hash_source(kPageScript.sha256)));
}

TEST(Page, HoldsNoNumberThatIsNone) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  RooflineChart roofs{"r", {{"m", kInf}}, {{"c", kNaN}}, {}};
  roofs.points = {{"a", "a", 1, 1, kNaN, "g"}, {"b", "b", kInf, 1, 1, "g"}, {"c", "c", -1, 1, 1, "g"}};
  const std::string page = html({"t", "", {{"s", {roofs}}}});
  EXPECT_TRUE(only_chart(page)["points"][0]["seconds"].is_null());
  EXPECT_TRUE(has(page, "2 points are not drawn"));
  const std::string own = own_part(page);
  for (const char* part : {"nan", "NaN", "inf", "Infinity"}) EXPECT_FALSE(has(own, part)) << part;
}

TEST(Page, ChartsHaveATextAlternative) {
  const LineChart chart{"Reads", {"size", "B"}, {"rate", "B/s"}, {{"cold", {{1024, 4e12}}}}};
  const std::string page = html({"t", "", {{"s", {chart}}}});
  EXPECT_TRUE(has(page, "<summary>This chart as a table</summary>"));
  EXPECT_TRUE(has(page, "<td>cold</td><td class=\"number\">1.00 KiB</td><td class=\"number\">4.00 TB/s</td>"));
  if (pages_have_charts()) {
    EXPECT_TRUE(has(page, "aria-label=\"Reads. Line chart of rate over size: 1 point in 1 curve."));
  } else {
    EXPECT_TRUE(has(page, "install libjs-chart.js"));
    EXPECT_TRUE(has(page, "<details open>"));
    EXPECT_FALSE(has(own_part(page), "<canvas"));
  }
}

TEST(Page, ManySectionsGetContents) {
  Page page{"t", "", {{"a & b", {}}, {"c", {}}, {"d", {}}}};
  EXPECT_FALSE(has(html(page), "<nav"));
  page.sections.push_back({"e", {}});
  EXPECT_TRUE(has(html(page), "<li><a href=\"#section-1\">a &amp; b</a></li>"));
  EXPECT_TRUE(has(html(page), "<section id=\"section-4\">\n<h2>e</h2>"));
}

TEST(Page, TheLibraryKeepsItsLicence) {
  if (!pages_have_charts()) GTEST_SKIP() << "this build has no Chart.js: install libjs-chart.js and configure again";
  const std::string library(kChartLibrary.text);
  EXPECT_TRUE(has(library, "Permission is hereby granted, free of charge"));
  EXPECT_TRUE(has(library, "Chart.js v"));
  EXPECT_FALSE(has(library, "</script"));
}

}  // namespace
}  // namespace rafter
