-- wrk sends so many requests at once:  wrk -s pipeline.lua URL -- DEPTH
function init(args)
    local one = wrk.format()
    local all = {}
    for i = 1, tonumber(args[1]) do
        all[i] = one
    end
    together = table.concat(all)
end

function request()
    return together
end
