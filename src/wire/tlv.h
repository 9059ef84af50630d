// Tag-length-value coding of message structs. A struct lists its members once:
//   template <class V> void fields(V& v) { v(1, command_id); v(2, argv); }
// Layout, little-endian: u16 tag | u32 length | value. Integers are 8 bytes, bool one, strings
// raw, vectors repeat the tag, nested structs nest. Absent = default-constructed. Unknown tags are
// skipped, so that members can be added. Every length is checked against what is there.
#pragma once
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cay::wire {

class Encoder;
class Decoder;

template <class T>
concept Message = requires(T t, Encoder& e) { t.fields(e); };

class Encoder {
 public:
  std::string out;

  template <class T>
  void operator()(std::uint16_t tag, const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      put(tag, value);
    } else if constexpr (std::is_same_v<T, bool>) {
      const char byte = value ? 1 : 0;
      put(tag, std::string_view(&byte, 1));
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      char raw[8];
      auto wide = static_cast<std::uint64_t>(value);
      for (char& byte : raw) {
        byte = static_cast<char>(wide & 0xff);
        wide >>= 8;
      }
      put(tag, std::string_view(raw, 8));
    } else if constexpr (Message<T>) {
      Encoder inner;
      const_cast<T&>(value).fields(inner);  // fields() serves both directions; encoding only reads
      put(tag, inner.out);
    } else if constexpr (requires { value.has_value(); }) {
      if (value) (*this)(tag, *value);
    } else {
      for (const auto& item : value) (*this)(tag, item);
    }
  }

 private:
  void put(std::uint16_t tag, std::string_view bytes) {
    const auto len = static_cast<std::uint32_t>(bytes.size());
    const char head[6] = {
        static_cast<char>(tag & 0xff),         static_cast<char>(tag >> 8),
        static_cast<char>(len & 0xff),         static_cast<char>((len >> 8) & 0xff),
        static_cast<char>((len >> 16) & 0xff), static_cast<char>((len >> 24) & 0xff)};
    out.append(head, 6);
    out.append(bytes);
  }
};

// Decodes by walking the struct's fields for each tag found (structs are small). ok() is false on
// any malformed input, and the struct is then not to be used.
class Decoder {
 public:
  explicit Decoder(std::string_view in, int depth = 0)
      : in_(in), ok_(depth < kMaxDepth), depth_(depth) {}

  template <Message T>
  bool run(T& message) {
    while (ok_ && !in_.empty()) {
      if (in_.size() < 6) return fail();
      const auto* raw = reinterpret_cast<const unsigned char*>(in_.data());
      tag_ = static_cast<std::uint16_t>(raw[0] | (raw[1] << 8));
      const std::uint32_t len =
          static_cast<std::uint32_t>(raw[2]) | (static_cast<std::uint32_t>(raw[3]) << 8) |
          (static_cast<std::uint32_t>(raw[4]) << 16) | (static_cast<std::uint32_t>(raw[5]) << 24);
      in_.remove_prefix(6);
      if (len > in_.size()) return fail();
      value_ = in_.substr(0, len);
      in_.remove_prefix(len);
      message.fields(*this);
    }
    return ok_;
  }

  template <class T>
  void operator()(std::uint16_t tag, T& target) {
    if (tag == tag_ && ok_) assign(target);
  }

 private:
  static constexpr int kMaxDepth = 8;

  template <class T>
  void assign(T& target) {
    if constexpr (std::is_same_v<T, std::string>) {
      target.assign(value_);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (value_.size() != 1) {
        fail();
        return;
      }
      target = value_[0] != 0;
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      if (value_.size() != 8) {
        fail();
        return;
      }
      std::uint64_t wide = 0;
      for (int i = 7; i >= 0; --i)
        wide = (wide << 8) | static_cast<unsigned char>(value_[static_cast<std::size_t>(i)]);
      target = static_cast<T>(wide);
    } else if constexpr (Message<T>) {
      Decoder inner(value_, depth_ + 1);
      if (!inner.run(target)) fail();
    } else if constexpr (requires { target.has_value(); }) {
      target.emplace();
      assign(*target);
    } else {
      if (target.size() >= kMaxItems) {
        fail();
        return;
      }
      target.emplace_back();
      assign(target.back());
    }
  }

  bool fail() {
    ok_ = false;
    return false;
  }

  static constexpr std::size_t kMaxItems = 65'536;
  std::string_view in_;
  std::string_view value_;
  std::uint16_t tag_ = 0;
  bool ok_;
  int depth_;
};

template <Message T>
std::string encode(const T& message) {
  Encoder encoder;
  const_cast<T&>(message).fields(encoder);
  return std::move(encoder.out);
}

template <Message T>
std::optional<T> decode(std::string_view bytes) {
  T message;
  Decoder decoder(bytes);
  if (!decoder.run(message)) return std::nullopt;
  return message;
}

}  // namespace cay::wire
