// Text of the shell driver: lines of JSON that it writes, and base64 that it reads.
#pragma once
#include <cstddef>
#include <cstdint>

namespace cay::shell {

// Bytes of somebody else.
struct Text {
  const char* data = "";
  std::size_t size = 0;

  Text() = default;
  Text(const char* bytes, std::size_t count) : data(bytes), size(count) {}
  // A literal or another text that ends with a zero.
  Text(const char* words) : data(words) {  // NOLINT(google-explicit-constructor)
    while (words[size] != 0) ++size;
  }
  bool operator==(const Text& other) const {
    if (size != other.size) return false;
    for (std::size_t i = 0; i < size; ++i) {
      if (data[i] != other.data[i]) return false;
    }
    return true;
  }
};

// A buffer of fixed size. It leaves out bytes that have no room.
template <std::size_t kSize>
class Buffer {
 public:
  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }
  std::size_t room() const { return kSize - size_; }
  char* data() { return data_; }
  char* end() { return data_ + size_; }
  Text text() const { return {data_, size_}; }
  void grow(std::size_t count) { size_ += count; }
  void remove_front(std::size_t count) {
    for (std::size_t i = count; i < size_; ++i) data_[i - count] = data_[i];
    size_ -= count;
  }
  void put(char byte) {
    if (size_ < kSize) data_[size_++] = byte;
  }
  void put(Text words) {
    for (std::size_t i = 0; i < words.size; ++i) put(words.data[i]);
  }
  void put_number(std::uint64_t number) {
    char digits[20];
    std::size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    while (count > 0) put(digits[--count]);
  }
  // A string of JSON, without its quotes. Bytes that are no UTF-8 become U+FFFD. Returns how many
  // bytes at the end may be the beginning of a character: they are left out, unless `last`.
  // Sets `replaced` if a byte was replaced.
  std::size_t put_json(Text words, bool last, bool& replaced);
  void put_base64(Text bytes);

 private:
  char data_[kSize] = {};
  std::size_t size_ = 0;
};

// The length of the character of UTF-8 at the beginning of `words`. 0: there is none. -1: the rest
// of it may follow.
inline int character_length(Text words) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(words.data[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= words.size) return -1;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    if (i == 1 && first == 0xe0) low = 0xa0;   // no overlong forms
    if (i == 1 && first == 0xed) high = 0x9f;  // no surrogates
    if (i == 1 && first == 0xf0) low = 0x90;
    if (i == 1 && first == 0xf4) high = 0x8f;  // nothing behind U+10FFFF
    if (byte(i) < low || byte(i) > high) return 0;
  }
  return static_cast<int>(length);
}

template <std::size_t kSize>
std::size_t Buffer<kSize>::put_json(Text words, bool last, bool& replaced) {
  constexpr const char* kHex = "0123456789abcdef";
  for (std::size_t i = 0; i < words.size;) {
    const Text rest{words.data + i, words.size - i};
    const int length = character_length(rest);
    if (length < 0 && !last) return rest.size;
    if (length <= 0) {
      put("\xef\xbf\xbd");  // U+FFFD
      replaced = true;
      ++i;
      continue;
    }
    const char c = rest.data[0];
    if (c == '"' || c == '\\') {
      put('\\');
      put(c);
    } else if (c >= 0 && c < ' ') {
      put("\\u00");
      put(kHex[c >> 4]);
      put(kHex[c & 15]);
    } else {
      put({rest.data, static_cast<std::size_t>(length)});
    }
    i += static_cast<std::size_t>(length);
  }
  return 0;
}

template <std::size_t kSize>
void Buffer<kSize>::put_base64(Text bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < bytes.size; i += 3) {
    const auto byte = [&](std::size_t k) {
      return i + k < bytes.size ? static_cast<unsigned char>(bytes.data[i + k]) : 0U;
    };
    const unsigned bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    put(kDigits[bits >> 18]);
    put(kDigits[bits >> 12 & 63]);
    put(i + 1 < bytes.size ? kDigits[bits >> 6 & 63] : '=');
    put(i + 2 < bytes.size ? kDigits[bits & 63] : '=');
  }
}

// Decodes `words` in place. Returns the number of bytes, or -1: it is no base64.
inline long decode_base64(char* words, std::size_t size) {
  if (size % 4 != 0) return -1;
  const auto value = [](char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
  };
  std::size_t out = 0;
  for (std::size_t i = 0; i < size; i += 4) {
    const bool is_last = i + 4 == size;
    const int padding = !is_last || words[i + 3] != '=' ? 0 : words[i + 2] != '=' ? 1 : 2;
    unsigned bits = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const int part = static_cast<int>(k) >= 4 - padding ? 0 : value(words[i + k]);
      if (part < 0) return -1;
      bits = bits << 6 | static_cast<unsigned>(part);
    }
    words[out++] = static_cast<char>(bits >> 16);
    if (padding < 2) words[out++] = static_cast<char>(bits >> 8);
    if (padding < 1) words[out++] = static_cast<char>(bits);
  }
  return static_cast<long>(out);
}

// Takes the first word off `line`. A word ends at a space.
inline Text take_word(Text& line) {
  std::size_t end = 0;
  while (end < line.size && line.data[end] != ' ') ++end;
  const Text word{line.data, end};
  const std::size_t gone = end < line.size ? end + 1 : end;
  line = {line.data + gone, line.size - gone};
  return word;
}

// -1: `digits` is no number below 10^15.
inline long long number_from(Text digits) {
  constexpr std::size_t kMostDigits = 15;
  if (digits.size == 0 || digits.size > kMostDigits) return -1;
  long long out = 0;
  for (std::size_t i = 0; i < digits.size; ++i) {
    if (digits.data[i] < '0' || digits.data[i] > '9') return -1;
    out = out * 10 + (digits.data[i] - '0');
  }
  return out;
}

}  // namespace cay::shell
