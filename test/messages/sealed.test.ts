import { describe, expect, it } from 'vitest';
import { UnsealedBlocks, writeEnvelope } from '../../plugins/protocols/messages/encoding.ts';
import { expectLinear } from '../support/linear.ts';

const state = { vendor: 'google', kind: 'signature', value: 'v' };
const ofCall = writeEnvelope(state, { call: 'none' });

describe('state that belongs to other blocks', () => {
  it('is added to the first call of its id, the last text and the last reasoning', () => {
    const unsealed = new UnsealedBlocks();
    for (const id of ['a', 'a', 'b']) unsealed.add({ type: 'tool-call', id, name: 'look', arguments: '{}' });
    for (const text of ['one', 'two']) unsealed.add({ type: 'text', text });
    expect(
      [
        writeEnvelope(state, { call: 'a' }),
        writeEnvelope(state, 'text'),
        writeEnvelope(state, undefined),
        writeEnvelope(state, 'reasoning'),
        ofCall,
        'other',
      ].map((data) => unsealed.open(data, 'x')),
    ).toEqual([true, true, true, true, true, false]);
    expect(unsealed.blocks.map((block) => ('opaque' in block ? block.opaque?.length : 0))).toEqual([
      1, 0, 0, 0, 1, 2,
    ]);
  });

  it('replaces reasoning that the client omitted', () => {
    const unsealed = new UnsealedBlocks();
    expect(unsealed.open(writeEnvelope(state, 'reasoning'), 'x')).toBe(true);
    unsealed.open(writeEnvelope({ ...state, value: 'w' }, 'reasoning'), 'y');
    expect(unsealed.blocks).toEqual([
      { type: 'reasoning', text: '', opaque: [state, { ...state, value: 'w' }], at: 'x' },
    ]);
  });

  it('finds its call after it too, as Claude Code puts calls after everything else', () => {
    const unsealed = new UnsealedBlocks();
    unsealed.open(writeEnvelope(state, { call: 'b' }), 'x');
    for (const id of ['a', 'b']) unsealed.add({ type: 'tool-call', id, name: 'look', arguments: '{}' });
    unsealed.open(writeEnvelope({ ...state, value: 'w' }, { call: 'b' }), 'x');
    expect(unsealed.blocks).toEqual([
      { type: 'tool-call', id: 'a', name: 'look', arguments: '{}' },
      {
        type: 'tool-call',
        id: 'b',
        name: 'look',
        arguments: '{}',
        opaque: [state, { ...state, value: 'w' }],
      },
    ]);
  });

  it("is added to its call whatever characters the call's id contains", () => {
    const unsealed = new UnsealedBlocks();
    const id = 'call of the wild of 2';
    unsealed.add({ type: 'tool-call', id, name: 'look', arguments: '{}' });
    unsealed.open(writeEnvelope(state, { call: id }), 'x');
    expect(unsealed.blocks).toMatchObject([{ id, opaque: [state] }]);
  });

  it('is restored in linear time, however much of it there is', async () => {
    await expectLinear((count) => {
      const unsealed = new UnsealedBlocks();
      for (let place = 0; place < count; place += 1)
        unsealed.add({ type: 'tool-call', id: `${place}`, name: 'look', arguments: '{}' });
      for (let place = 0; place < count; place += 1)
        for (const data of [ofCall, writeEnvelope(state, { call: '7' })]) unsealed.open(data, 'x');
      expect(unsealed.blocks[7]).toMatchObject({ opaque: { length: count } });
    }, 2000);
  });
});
