include "lib/acts.fx"
const scale = 3
