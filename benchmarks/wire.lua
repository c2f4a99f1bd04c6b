-- Sends the requests of a file in turn, and compares every answer with those expected. See load.py for the file.
--     wrk … -s wire.lua URL -- FILE

local the_thread

function setup(thread)
   the_thread = thread
end

function init(args)
   requests, expected, at = {}, {}, 0
   wrong, example = 0, ""
   local file = assert(io.open(args[1], "rb"))
   while true do
      local sent, answered = file:read("*n", "*n")
      if not sent then break end
      file:read(1)
      requests[#requests + 1] = file:read(sent)
      expected[answered > 0 and file:read(answered) or ""] = true
   end
   file:close()
end

function request()
   at = at % #requests + 1
   return requests[at]
end

function response(status, headers, body)
   if status ~= 200 or not expected[body] then
      wrong = wrong + 1
      example = status .. " " .. body:sub(1, 300)
   end
end

function done(summary, latency)
   local errors = summary.errors
   io.write(string.format(
      "\n%d %d %d %d %d %d %s\n",
      summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
      errors.connect + errors.read + errors.write + errors.timeout, the_thread:get("wrong"),
      (the_thread:get("example"):gsub("%c", " "))
   ))
end
