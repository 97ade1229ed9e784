#include "rafter/formats/tokenizer.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>

#include "rafter/base/error.h"
#include "rafter/formats/tokenizer_nfc.h"
#include "rafter/formats/tokenizer_state.h"
#include "rafter/formats/tokenizer_utf8.h"

namespace rafter {

namespace {

// The words of one text seen so far and where in the output their tokens lie: a repeated word is copied from there.
// One slot per hash; a later word takes the place of an earlier one.
class WordCache {
 public:
  explicit WordCache(size_t text_size) : slots_(std::bit_ceil(std::clamp<size_t>(text_size / kBytesPerSlot, 1, kMostSlots))) {}

  // Appends the word's tokens where the word was seen; false where it was not.
  bool repeat(std::string_view word, std::vector<int32_t>& tokens) const {
    const Slot& slot = slots_[at(word)];
    if (slot.word != word) return false;
    tokens.resize(tokens.size() + slot.count);
    std::copy_n(tokens.begin() + static_cast<ptrdiff_t>(slot.first), slot.count, tokens.end() - slot.count);
    return true;
  }
  void remember(std::string_view word, size_t first, size_t end) {
    slots_[at(word)] = {word, first, static_cast<uint32_t>(end - first)};
  }

 private:
  static constexpr size_t kBytesPerSlot = 16, kMostSlots = 4096;
  struct Slot {
    std::string_view word;
    size_t first = 0;
    uint32_t count = 0;
  };
  size_t at(std::string_view word) const { return hash_bytes(word) & (slots_.size() - 1); }
  std::vector<Slot> slots_;
};

}  // namespace

// One call of encode(): the output so far, and room for work that lasts as long as the call.
class Tokenizer::Encoding {
 public:
  Encoding(const State& state, bool reads_added, size_t text_size)
      : state_(state), reads_added_(reads_added), cache_(text_size) {}

  std::vector<int32_t> run(std::string_view text) {
    if (reads_added_ && !state_.added.empty()) {
      state_.added.scan(
          text, [&](std::string_view part) { bytes(part); }, [&](int32_t id) { tokens_.push_back(id); });
    } else {
      bytes(text);
    }
    return std::move(tokens_);
  }

 private:
  // Text that may hold invalid UTF-8: its faulty bytes are tokens of their own, and what lies between them is text.
  void bytes(std::string_view text) {
    if (simdjson::validate_utf8(text.data(), text.size())) return valid(text);
    size_t done = 0;
    for (size_t at = 0; at < text.size();) {
      const Utf8Char next = first_character(text.substr(at));
      if (next.kind == Utf8Char::Kind::valid) {
        at += next.length;
        continue;
      }
      if (at > done) valid(text.substr(done, at - done));
      for (const char c : text.substr(at, next.length)) {
        const int32_t id = state_.bpe->byte_token(static_cast<unsigned char>(c));
        if (id != Vocabulary::kNone) tokens_.push_back(id);
      }
      at = done = at + next.length;
    }
    if (done < text.size()) valid(text.substr(done));
  }

  void valid(std::string_view text) {
    if (state_.nfc && may_need_nfc(text)) text = normalised_.emplace_back(nfc(text));
    if (reads_added_ && !state_.added_normalized.empty()) {
      state_.added_normalized.scan(
          text, [&](std::string_view part) { words(part); }, [&](int32_t id) { tokens_.push_back(id); });
    } else {
      words(text);
    }
  }

  void words(std::string_view text) {
    constexpr size_t kLongestCached = 64;  // longer words seldom come twice
    state_.pretokenizer.split(text, words_);
    for (const std::string_view word : words_) {
      if (word.size() == 1 || word.size() > kLongestCached) {
        state_.bpe->encode(word, scratch_, tokens_);
      } else if (!cache_.repeat(word, tokens_)) {
        const size_t first = tokens_.size();
        state_.bpe->encode(word, scratch_, tokens_);
        cache_.remember(word, first, tokens_.size());
      }
    }
  }

  const State& state_;
  const bool reads_added_;
  std::vector<int32_t> tokens_;
  WordCache cache_;
  std::deque<std::string> normalised_;  // the cache refers into these
  std::vector<std::string_view> words_;
  Bpe::Scratch scratch_;
};

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

std::vector<int32_t> Tokenizer::encode(std::string_view text, SpecialTokens specials) const {
  constexpr size_t kMostBytes = size_t{1} << 31;
  if (text.size() > kMostBytes) {
    throw input_error({"the length of the text", fmt::format("{} bytes", text.size()), "at most 2 GiB"});
  }
  return Encoding(*state_, specials == SpecialTokens::parse, text.size()).run(text);
}

std::string Tokenizer::decode(std::span<const int32_t> tokens, SpecialTokens specials) const {
  std::string text;
  for (const int32_t token : tokens) {
    const std::string_view part = bytes(token);
    if (specials == SpecialTokens::parse || !is_special(token)) text += part;
  }
  return text;
}

std::string_view Tokenizer::bytes(int32_t token) const {
  if (token < 0 || token >= size()) {
    throw input_error({"the token id", std::to_string(token), fmt::format("0 to {}, the vocabulary's range", size() - 1)});
  }
  return state_->vocabulary.bytes(token);
}

int32_t Tokenizer::size() const { return state_->vocabulary.size(); }

bool Tokenizer::is_special(int32_t token) const {
  return token >= 0 && token < size() && state_->kinds[static_cast<size_t>(token)] == TokenKind::special;
}

std::optional<int32_t> Tokenizer::find(std::string_view text) const {
  if (const auto id = state_->added.find(text)) return id;
  if (const auto id = state_->added_normalized.find(text)) return id;
  const int32_t id = state_->vocabulary.find(text);
  return id == Vocabulary::kNone ? std::nullopt : std::optional(id);
}

std::optional<int32_t> Tokenizer::bos() const { return state_->bos; }
bool Tokenizer::adds_bos() const { return state_->adds_bos; }
const std::vector<int32_t>& Tokenizer::stops() const { return state_->stops; }
bool Tokenizer::is_stop(int32_t token) const { return std::binary_search(state_->stops.begin(), state_->stops.end(), token); }
const std::string& Tokenizer::chat_template() const { return state_->chat_template; }

}  // namespace rafter
