require 'sandbox_require_itself'    --> require: expected no circle of files, found that 'sandbox_require_itself' requires itself
