require "greeting"
puts hello("ruby")
