// From what a file says to a tokenizer that works: the checks, and the tables that make it fast.
#include <algorithm>

#include "rafter/base/error.h"
#include "rafter/formats/tokenizer_bytes.h"
#include "rafter/formats/tokenizer_state.h"

namespace rafter {

namespace {

// Marks that end an answer in the formats of chat.h, whatever else the file names as its end of text.
constexpr std::string_view kEndMarks[] = {"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|endoftext|>"};

void check_sizes(const TokenizerSource& source) {
  constexpr size_t kMost = size_t{1} << 30;
  size_t bytes = 0;
  for (const SourceToken& token : source.tokens) bytes += token.text.size();
  if (source.tokens.empty()) throw input_error({source.name + ": the number of tokens", "0", "1 or more"});
  if (source.tokens.size() > kMost || source.merges.size() > kMost || bytes > kMost) {
    throw input_error({source.name + ": the vocabulary",
                       fmt::format("{} tokens of {} bytes, {} merges", source.tokens.size(), bytes, source.merges.size()),
                       "at most 2^30 of each"});
  }
}

// Ordinary tokens go in as the bytes they stand for, the others as their text. An ordinary token that is not written in the
// byte alphabet can't come out of a merge: it keeps its text and stays out of the index. Ordinary tokens are indexed first,
// so that a mark with the bytes of one doesn't hide it.
void fill_vocabulary(const TokenizerSource& source, Vocabulary& vocabulary) {
  // Of two tokens with one text the second would never be chosen: the file is not what its model was trained with.
  const auto index = [&](int32_t id) {
    const std::string_view text = source.tokens[static_cast<size_t>(id)].text;
    const int32_t first = vocabulary.index(id);
    if (first == id || source.tokens[static_cast<size_t>(first)].text != text) return;
    throw input_error({fmt::format("{}: token {}", source.name, id),
                       fmt::format("{}, as token {} is", in_quotes(text, 80), first), "each token once"});
  };
  std::string bytes;
  std::vector<int32_t> marks;
  for (const SourceToken& token : source.tokens) {
    if (token.kind != TokenKind::ordinary) {
      const int32_t id = vocabulary.add(token.text);
      if (token.kind != TokenKind::unused) marks.push_back(id);
      continue;
    }
    bytes.clear();
    const bool in_alphabet = append_bytes_of(token.text, bytes);
    const int32_t id = vocabulary.add(in_alphabet ? std::string_view(bytes) : token.text);
    if (in_alphabet) index(id);
  }
  for (const int32_t id : marks) index(id);
}

std::vector<Merge> resolve_merges(const TokenizerSource& source, const Vocabulary& vocabulary) {
  std::vector<Merge> merges;
  merges.reserve(source.merges.size());
  std::string joined;
  for (size_t rank = 0; rank < source.merges.size(); ++rank) {
    const SourceMerge& merge = source.merges[rank];
    joined.clear();
    bool known = append_bytes_of(merge.left, joined);
    const size_t left = joined.size();
    known = append_bytes_of(merge.right, joined) && known;
    const std::string_view text = joined;
    const Merge ids = {vocabulary.find(text.substr(0, left)), vocabulary.find(text.substr(left)), vocabulary.find(text)};
    if (!known || ids.left < 0 || ids.right < 0 || ids.result < 0) {
      throw input_error({fmt::format("{}: merge {}", source.name, rank),
                         fmt::format("'{}' + '{}'", printable(merge.left), printable(merge.right)),
                         "two tokens of the vocabulary whose joined text is a token as well"});
    }
    merges.push_back(ids);
  }
  return merges;
}

int32_t checked_id(const TokenizerSource& source, std::string_view what, int64_t id) {
  if (id < 0 || id >= static_cast<int64_t>(source.tokens.size())) {
    throw input_error({fmt::format("{}: the {}", source.name, what), std::to_string(id),
                       fmt::format("a token id from 0 to {}", source.tokens.size() - 1)});
  }
  return static_cast<int32_t>(id);
}

}  // namespace

std::unique_ptr<Tokenizer::State> Tokenizer::State::build(const TokenizerSource& source) {
  check_sizes(source);
  auto state = std::make_unique<State>(source.tokens.size(), source.splits);
  fill_vocabulary(source, state->vocabulary);

  std::vector<bool> is_plain(source.tokens.size());
  state->kinds.reserve(source.tokens.size());
  for (size_t i = 0; i < source.tokens.size(); ++i) {
    const SourceToken& token = source.tokens[i];
    state->kinds.push_back(token.kind);
    is_plain[i] = token.kind == TokenKind::ordinary;
    if ((token.kind != TokenKind::added && token.kind != TokenKind::special) || token.text.empty()) continue;
    (token.normalized ? state->added_normalized : state->added)
        .add(token.text, {static_cast<int32_t>(i), token.lstrip, token.rstrip});
  }

  const std::vector<Merge> merges = resolve_merges(source, state->vocabulary);
  state->bpe.emplace(state->vocabulary, merges, source.ignore_merges, is_plain);
  state->nfc = source.nfc;

  if (source.bos) state->bos = checked_id(source, "beginning-of-text token", *source.bos);
  state->adds_bos = source.adds_bos && state->bos;
  for (const int64_t id : source.stops) state->stops.push_back(checked_id(source, "end-of-text token", id));
  for (const std::string_view mark : kEndMarks) {
    if (const int32_t id = state->vocabulary.find(mark); id != Vocabulary::kNone) state->stops.push_back(id);
  }
  std::sort(state->stops.begin(), state->stops.end());
  state->stops.erase(std::unique(state->stops.begin(), state->stops.end()), state->stops.end());
  state->chat_template = source.chat_template;
  return state;
}

}  // namespace rafter
