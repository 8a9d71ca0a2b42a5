/** The rows of the table: what each figure is called, in what unit it is, and which way is better. */
export interface Row {
  readonly figure: string;
  readonly label: string;
  readonly unit: string;
  readonly better: 'more' | 'less' | undefined;
  /** The figure less another target's in the same round. */
  readonly over?: 'direct' | 'bare';
  readonly digits?: number;
}

export const rows: readonly Row[] = [
  { figure: 'jsonRate', label: 'JSON calls, 32 connections', unit: '/s', better: 'more' },
  { figure: 'jsonCpu', label: '  processor time', unit: 'µs/call', better: 'less' },
  { figure: 'jsonP50', label: 'JSON call, 1 connection, p50', unit: 'µs', better: 'less' },
  { figure: 'jsonP50', label: '  more than direct', unit: 'µs', better: 'less', over: 'direct' },
  { figure: 'jsonP50', label: '  more than bare', unit: 'µs', better: undefined, over: 'bare' },
  { figure: 'jsonP99', label: 'JSON call, 1 connection, p99', unit: 'µs', better: 'less' },
  { figure: 'jsonP99', label: '  more than direct', unit: 'µs', better: 'less', over: 'direct' },
  { figure: 'jsonP99', label: '  more than bare', unit: 'µs', better: undefined, over: 'bare' },
  { figure: 'ledgerWait', label: '  of it, mean wait for the ledger', unit: 'µs/call', better: undefined },
  { figure: 'ledgerCommits', label: '  in so many commits', unit: '/call', better: undefined, digits: 2 },
  { figure: 'sync', label: '  one 4 kB write and fsync there', unit: 'µs', better: undefined },
  { figure: 'fewRate', label: 'Events, 32 streams, one a ms each', unit: '/s', better: 'more' },
  { figure: 'fewCpu', label: '  processor time', unit: 'µs/event', better: 'less', digits: 2 },
  {
    figure: 'fewPerRead',
    label: '  events in one read of the proxy',
    unit: '',
    better: undefined,
    digits: 1,
  },
  { figure: 'manyRate', label: 'Events, 256 streams, one a ms each', unit: '/s', better: 'more' },
  { figure: 'manyCpu', label: '  processor time', unit: 'µs/event', better: 'less', digits: 2 },
  {
    figure: 'manyPerRead',
    label: '  events in one read of the proxy',
    unit: '',
    better: undefined,
    digits: 1,
  },
  { figure: 'burstRate', label: 'Events, 32 streams, unpaced vendor', unit: '/s', better: 'more' },
  { figure: 'burstCpu', label: '  processor time', unit: 'µs/event', better: 'less', digits: 2 },
  {
    figure: 'burstPerRead',
    label: '  events in one read of the proxy',
    unit: '',
    better: undefined,
    digits: 1,
  },
  { figure: 'firstEvent', label: 'First event, 1 connection, p50', unit: 'µs', better: 'less' },
  { figure: 'firstEvent', label: '  more than direct', unit: 'µs', better: 'less', over: 'direct' },
  { figure: 'firstEvent', label: '  more than bare', unit: 'µs', better: undefined, over: 'bare' },
  {
    figure: 'translatedJsonRate',
    label: 'JSON calls, messages to chat-completions, 32 connections',
    unit: '/s',
    better: 'more',
  },
  { figure: 'translatedJsonCpu', label: '  processor time', unit: 'µs/call', better: 'less' },
  {
    figure: 'translatedRate',
    label: 'Events, messages to chat-completions, 32 streams, unpaced',
    unit: '/s',
    better: 'more',
  },
  { figure: 'translatedCpu', label: '  processor time', unit: 'µs/event', better: 'less', digits: 2 },
  { figure: 'longP50', label: 'Conversation of 1 MB, 1 connection, p50', unit: 'µs', better: 'less' },
  { figure: 'translatedLongP50', label: '  translated', unit: 'µs', better: 'less' },
  {
    figure: 'others',
    label: 'Processors taken by others meanwhile',
    unit: '%',
    better: undefined,
    digits: 1,
  },
  { figure: 'startup', label: 'Start to first answer', unit: 'ms', better: 'less' },
  { figure: 'memoryBefore', label: 'Memory, idle, before the first call', unit: 'MB', better: 'less' },
  { figure: 'memoryAfter', label: 'Memory, idle, after the last', unit: 'MB', better: 'less' },
];
