// The chapters: each measures something on this machine and explains what the reader sees with this machine's own numbers.
//
// A chapter is composition only: probes and traces measure, report/ draws. A new one is a file here and a line in lab.cpp.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "rafter/device/device.h"
#include "rafter/machine/probe.h"
#include "rafter/report/page.h"

namespace rafter {

struct LabOptions {
  DeviceId device;
  bool quick = false;
  std::string model = {};       // of chapters that run one: a name for --random-weights; empty: the chapter's choice
  std::string model_file = {};  // or a file or folder of a real one
};

struct LabResult {
  Page page;
  Machine measured;          // the figures behind it
  std::string kernels = {};  // a rafter.roofline/1 document, where kernels were placed
};

struct Lab {
  std::string_view name;  // "memory"
  int chapter = 0;
  std::string_view title;
  LabResult (*run)(const LabOptions& options, const ProbeProgress& progress) = nullptr;
};

std::span<const Lab> labs();
// An input Error that lists the names where there is no such chapter.
const Lab& lab_named(const std::string& name);

// Schema "rafter.lab/1".
std::string lab_json(const Lab& lab, const LabResult& result);

LabResult threads_lab(const LabOptions& options, const ProbeProgress& progress);
LabResult memory_lab(const LabOptions& options, const ProbeProgress& progress);
LabResult roofline_lab(const LabOptions& options, const ProbeProgress& progress);
LabResult one_token_lab(const LabOptions& options, const ProbeProgress& progress);

}  // namespace rafter
