/**
 * Bounds an LRU cache by the number of its entries. For `max` the cache allocates room for all of them at
 * once: 350 kB for ten thousand, which most gateways never use.
 */
export function limitEntries(entries: number): { maxSize: number; sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
