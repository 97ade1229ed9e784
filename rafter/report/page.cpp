#include "rafter/report/page.h"

#include <fmt/format.h>

#include "rafter/report/page_assets.h"
#include "rafter/report/page_text.h"

namespace rafter {

namespace {

constexpr size_t kSectionsWithoutContents = 3;  // more of them get a list of links at the top

constexpr const char* kNoLibrary =
    "<p class=\"notice\">Charts need Chart.js, which this program was built without: install libjs-chart.js and build again. "
    "Until then, each chart is a table.</p>\n";
constexpr const char* kNoScript =
    "<noscript><p class=\"notice\">Charts are drawn by a script inside this file, and scripts are switched off: each chart is "
    "in "
    "the table below it.</p></noscript>\n";

std::string head(const Page& page) {
  const std::string policy =
      fmt::format("default-src 'none'; base-uri 'none'; form-action 'none'; style-src {}; script-src {} {}",
                  hash_source(kPageStyle.sha256), hash_source(kPageScript.sha256), hash_source(kChartLibrary.sha256));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n",
      policy, html_text(page.title), kPageStyle.text);
}

std::string contents(const Page& page) {
  if (page.sections.size() <= kSectionsWithoutContents) return "";
  std::string out = "<nav aria-label=\"Contents\"><ul>\n";
  for (size_t i = 0; i < page.sections.size(); ++i) {
    out += fmt::format("<li><a href=\"#section-{}\">{}</a></li>\n", i + 1, html_text(page.sections[i].title));
  }
  return out + "</ul></nav>\n";
}

std::string table_html(const CaptionedTable& captioned) {
  const Table& table = captioned.table;
  const std::string caption = html_text(captioned.caption);
  const auto alignment = [&](size_t i) { return table.columns()[i].align == Align::right ? " class=\"number\"" : ""; };
  // A wide table scrolls inside its frame; a frame that scrolls must be reachable by keyboard.
  std::string out =
      fmt::format("<div class=\"table\" tabindex=\"0\" role=\"group\" aria-label=\"Table: {}\"><table>\n", caption);
  if (!caption.empty()) out += fmt::format("<caption>{}</caption>\n", caption);
  out += "<thead><tr>";
  for (size_t i = 0; i < table.columns().size(); ++i) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", alignment(i), html_text(table.columns()[i].title));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.cells()) {
    out += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) out += fmt::format("<td{}>{}</td>", alignment(i), html_text(row[i]));
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table></div>\n";
}

// The tables lie open where nothing can be drawn.
std::string tables_html(const std::vector<CaptionedTable>& tables) {
  if (tables.empty()) return "";
  std::string out = fmt::format("<details{}><summary>This chart as a table</summary>\n", pages_have_charts() ? "" : " open");
  for (const CaptionedTable& table : tables) out += table_html(table);
  return out + "</details>\n";
}

std::string left_out_html(int64_t count) {
  if (count == 0) return "";
  return fmt::format(
      "<p class=\"left-out\">{} point{} not drawn: a value that is no number, or 0 or less on a logarithmic axis.</p>\n", count,
      count == 1 ? " is" : "s are");
}

// What page.js draws into.
std::string drawing_html(const std::string& title, const std::string& summary) {
  return fmt::format(
      "<div class=\"legend\" role=\"group\" aria-label=\"Legend\"></div>\n"
      "<div class=\"canvas\"><canvas role=\"img\" tabindex=\"0\" aria-label=\"{}. {} The arrow keys go from point to point.\">"
      "</canvas><div class=\"tip\" hidden></div></div>\n<p class=\"spoken\" aria-live=\"polite\"></p>\n",
      title, summary);
}

template <typename Chart>
std::string chart_html(const Chart& chart) {
  const Json data = chart_json(chart);
  const std::string title = html_text(chart.title);
  std::string out = fmt::format("<figure>\n<div class=\"drawing\">\n<figcaption><h3>{}</h3></figcaption>\n", title);
  if (pages_have_charts()) out += drawing_html(title, html_text(chart_summary(chart)));
  out += left_out_html(data["left_out"].get<int64_t>()) + "</div>\n";
  out +=
      "<p class=\"actions\" hidden><button type=\"button\" data-save=\"csv\">Save points as CSV</button> "
      "<button type=\"button\" data-save=\"json\">Save points as JSON</button></p>\n";
  out += tables_html(chart_tables(chart));
  return out + fmt::format("<script type=\"application/json\">{}</script>\n</figure>\n", json_block(data));
}

struct BlockWriter {
  std::string operator()(const Paragraph& p) const { return fmt::format("<p>{}</p>\n", html_text(p.text)); }
  std::string operator()(const CaptionedTable& t) const { return table_html(t); }
  std::string operator()(const LineChart& c) const { return chart_html(c); }
  std::string operator()(const RooflineChart& c) const { return chart_html(c); }
  std::string operator()(const WaterfallChart& c) const { return chart_html(c); }
  std::string operator()(const TimelineChart& c) const { return chart_html(c); }
};

std::string section_html(const Section& section, size_t number) {
  std::string out = fmt::format("<section id=\"section-{}\">\n<h2>{}</h2>\n", number, html_text(section.title));
  for (const Block& block : section.blocks) out += std::visit(BlockWriter{}, block);
  return out + "</section>\n";
}

}  // namespace

bool pages_have_charts() { return !kChartLibrary.text.empty(); }

std::string html(const Page& page) {
  std::string out = head(page);
  out += fmt::format("<body>\n<header>\n<h1>{}</h1>\n", html_text(page.title));
  if (!page.subtitle.empty()) out += fmt::format("<p class=\"subtitle\">{}</p>\n", html_text(page.subtitle));
  out += "</header>\n";
  out += pages_have_charts() ? kNoScript : kNoLibrary;
  out += contents(page) + "<main>\n";
  for (size_t i = 0; i < page.sections.size(); ++i) out += section_html(page.sections[i], i + 1);
  if (page.sections.empty()) out += "<p>Nothing was measured.</p>\n";
  out += "</main>\n";
  if (pages_have_charts()) out += fmt::format("<script>{}</script>\n", kChartLibrary.text);
  out += fmt::format("<script type=\"module\">{}</script>\n</body>\n</html>\n", kPageScript.text);
  return out;
}

}  // namespace rafter
