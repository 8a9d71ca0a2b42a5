/**
 * The first words of functions' names: verbs, and what begins a predicate (`isX`) or a conversion (`toX`).
 * Add a verb here when a new function needs one. One word has one meaning: `get` looks up what exists, `find`
 * searches and may find nothing, `read` reads what comes from outside, `compute` does arithmetic, `build`
 * assembles a value, `create` makes something with state, `decode` and `encode` translate between a wire and
 * the canonical form.
 */
export const verbs: ReadonlySet<string> = new Set(
  `
  act add adjust admit advance advise allow answer append applies apply approve are ask assign attach audit
  authenticate await back beat begin begins bind bound build call can cancel cap change charge check
  checks choose cite claim classify clean clear close collect compare complete compute confirm connect
  consider contains continues convert copy correct count create credit cross cut decide decode decompress
  decrypt dedupe define delete deliver derive descend describe detach detect diagnose digest disable
  disconnect discover dispatch divide download drain draw drop echo edit emit encode end enqueue
  ensure enter erase escape estimate examine exclude expand
  expire explain import export extend extract fail fetch fill filter
  find finish fit fits flatten flush fold follow forget format forward freeze gather get give go group
  grow guard guess handle has hash hear hide hold holds hosts identify ignore init inline insert instructs
  is isolate issue join judge keep lacks learn leave lend lift limit list listen lists load locate lock log
  look lose lower make map mark match matches may measure merge migrate mix move moves multiply must
  name names narrow needs nest note notify offer omit
  on open opens optimise order overlay pack pad paint parse
  pass paste pause pay peek pick place plan point post prepare presume preview print probe prune push
  put qualify query queue quote race raise rank read reads receive reconnect record recover
   redact redeem redirect refer refund refuse refuses register rehearse reject release reload remember remove
   rename render renew repair replace reply report reprice require reserve reset resolve respell restart
   restore restrict resume revoke retarget reword rewrite rotate round route run save scale schedule scrape
  seal select send separate serialize serve serves set settle share
  shift shorten show shrink sign skip slice sort spell spend
  splice split stack start starts stays step stop store stream strip subtract suggest suits sum
  supervise supports suspend sweep switch take takes tap test tidy tighten to tolerate trace track transform
  translate trim try undo unescape unflatten unpack unseal unwrap update use uses verify view wait
  wake warn was watch weigh with wrap write writes
`
    .trim()
    .split(/\s+/),
);
