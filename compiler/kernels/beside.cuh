/* Problems beside each other: contractions of one A over the same m and batches, each with columns, weights, an epilogue and outputs of its own, whose tiles one launch computes. The columns of
   tiles of one problem follow those of the one before, so that tiles that run at the same time share A in the L2 cache, and one round of tiles at most is not full.
   In: a list, built from its end. Out: for a column of tiles, or the number of a tile, the problem that has it. */

// fx_beside_end: the end of a list of problems
struct fx_beside_end {
  static constexpr bool IS_END = true;
  static FX_DEVICE constexpr int staging_bytes() { return 0; }
  FX_DEVICE int columns() const { return 0; }
  template <class ACTION> FX_DEVICE void at_column(ACTION &, int, int, int) const {}
  template <class ACTION> FX_DEVICE void at_tile(ACTION &, int, long long) const {}
};

// fx_beside: a problem with its engine and tensor maps, and those after it
template <class ENGINE_, class PROBLEM, class REST>
struct fx_beside {
  typedef ENGINE_ ENGINE;
  static constexpr bool IS_END = false, IS_LAST = REST::IS_END;

  PROBLEM p;                  // the problem
  const fx_tensor_map *maps;  // its own
  REST rest;                  // those after it

  static FX_DEVICE constexpr int staging_bytes() { return ENGINE::STAGING_BYTES > REST::staging_bytes() ? ENGINE::STAGING_BYTES : REST::staging_bytes(); }
  FX_DEVICE int own_columns() const { return fx_count_columns<ENGINE>(p); }
  FX_DEVICE int columns() const { return own_columns() + rest.columns(); }  // of tiles
  // Runs the action for the problem that has this column of tiles.
  template <class ACTION>
  FX_DEVICE void at_column(ACTION &action, int batch, int row, int column) const {
    if (IS_LAST || column < own_columns()) action.template run<ENGINE>(p, maps, fx_tile{batch, row * ENGINE::BM, column * ENGINE::BN});
    else rest.at_column(action, batch, row, column - own_columns());
  }
  // Likewise for the one that has tile `number`, where those of one problem follow those of the one before.
  template <class ACTION>
  FX_DEVICE void at_tile(ACTION &action, int number, long long batches) const {
    const int tiles = (int)fx_count_tiles<ENGINE>(p, batches);
    if (IS_LAST || number < tiles) action.template run<ENGINE>(p, number);
    else rest.at_tile(action, number - tiles, batches);
  }
};

// fx_beside_of: a list of this problem and those after it
template <class ENGINE, class PROBLEM, class REST>
FX_DEVICE fx_beside<ENGINE, PROBLEM, REST> fx_beside_of(const PROBLEM &p, const fx_tensor_map *maps, const REST &rest) {
  return fx_beside<ENGINE, PROBLEM, REST>{p, maps, rest};
}

// fx_skinny_tile: what a block of the skinny driver does for the problem that has its tile
template <bool ALIGNED>
struct fx_skinny_tile {
  template <class ENGINE, class PROBLEM>
  FX_DEVICE void run(const PROBLEM &p, int number) const { fx_skinny<ENGINE, ALIGNED>(p, number); }
};

// fx_skinny_beside: the skinny driver over a list of problems; grid: a block for every tile of all of them
template <bool ALIGNED, class LIST>
FX_DEVICE void fx_skinny_beside(const LIST &list, long long batches) {
  fx_skinny_tile<ALIGNED> tile;
  fx_let_next_start();
  fx_wait_for_kernel();
  list.at_tile(tile, (int)blockIdx.x, batches);
}
