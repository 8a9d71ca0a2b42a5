import { describe, expect, it } from 'vitest';
import { Running } from '../../core/util/running.ts';

describe('running items', () => {
  it('counts and iterates items until they are removed', () => {
    const running = new Running<string>();
    const [one, two] = [running.add('one'), running.add('two')];
    running.add('three');
    running.remove(two);
    expect(running.size).toBe(2);
    expect([...running]).toEqual(['one', 'three']);
    running.remove(one);
    expect([...running]).toEqual(['three']);
  });

  it('reuses the slots of removed items, so that it never keeps more slots than items ran at once', () => {
    const running = new Running<number>();
    const places = new Set<number>();
    for (let turn = 0; turn < 1000; turn += 1) {
      const place = running.add(turn);
      places.add(place);
      running.remove(place);
    }
    expect([...places]).toEqual([0]);
    expect(running.size).toBe(0);
  });

  it('allows removal during iteration', () => {
    const running = new Running<() => void>();
    const seen: string[] = [];
    for (const name of ['one', 'two', 'three']) {
      const place = running.add(() => {
        seen.push(name);
        running.remove(place);
      });
    }
    for (const each of running) each();
    expect(seen).toEqual(['one', 'two', 'three']);
    expect(running.size).toBe(0);
  });
});
