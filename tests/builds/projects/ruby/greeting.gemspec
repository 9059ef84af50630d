Gem::Specification.new do |s|
  s.name = "greeting"
  s.version = "1.0.0"
  s.summary = "says hello"
  s.authors = ["nobody"]
  s.files = ["lib/greeting.rb"]
end
