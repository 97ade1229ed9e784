// A report as one HTML file that needs nothing else: no network, no other file.
//
// A page is a title and sections of paragraphs, tables and charts; html() writes it. Every text may come from a file of a
// stranger: it is shown as it is and never read as markup. The page's policy (Content-Security-Policy) forbids it the network
// and runs no script but the two that html() puts in, known by their hashes. Without Chart.js in the build the charts are their
// tables.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "rafter/report/chart.h"
#include "rafter/report/table.h"

namespace rafter {

struct Paragraph {
  std::string text;
};

using Block = std::variant<Paragraph, CaptionedTable, LineChart, RooflineChart, WaterfallChart, TimelineChart>;

struct Section {
  std::string title;
  std::vector<Block> blocks;
};

struct Page {
  std::string title, subtitle;
  std::vector<Section> sections;
};

std::string html(const Page& page);

// False where libjs-chart.js was missing when this program was built.
bool pages_have_charts();

}  // namespace rafter
