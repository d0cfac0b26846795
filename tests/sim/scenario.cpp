#include "scenario.hpp"

#include "conversations.hpp"
#include "losses.hpp"
#include "newest.hpp"

namespace zlink::sim {

verdict run_seed(std::uint64_t seed, planted plant) {
    dice chance(mix(seed) ^ 4);
    if (seed % 10 == 9)
        return newest(seed, plant, chance, {}).run();
    if (seed % 10 == 7)
        return losses(seed, plant, chance, {}).run();
    plan chosen(chance);
    if (dice security(mix(seed) ^ 5); seed % 10 == 4)
        chosen.secure(security);
    return conversations(seed, plant, chosen, chance).run();
}

}  // namespace zlink::sim
