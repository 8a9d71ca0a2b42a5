/** The few figures a bench needs: all are medians, since one disturbed round must not move a result. */
export function computeMedian(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

/** How far the rounds lie apart, as a share of their median. */
export function computeSpread(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / Math.abs(computeMedian(values));
}
