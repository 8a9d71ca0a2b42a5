/** A gateway in front of a fake Amazon Bedrock. */
import { afterEach, beforeAll } from 'vitest';
import { amazonBedrock } from '../../plugins/providers/amazon-bedrock.ts';
import { keys, startBedrock, type Bedrock } from '../support/cloud/bedrock.ts';
import { openCloudHarness, type CloudHarness } from '../support/cloud/harness.ts';

export const model = 'anthropic/claude-haiku-4-5';
export const path = '/model/global.anthropic.claude-haiku-4-5-20251001-v1%3A0/invoke';
export const hello = [{ role: 'user', content: 'Hello!' }];
export const credentials = { accessKeyId: keys.id, secretAccessKey: keys.secret };
export let cloud: Bedrock;
export let harness: CloudHarness;

/** What the last call ended with, once it has. */
export async function waitForCall<Result>(act: () => Promise<Result>): Promise<Result> {
  const count = harness.gateway.ends.length;
  const result = await act();
  await harness.gateway.ended(count + 1);
  return result;
}

export function openBedrock(): void {
  beforeAll(async () => {
    cloud = await startBedrock();
    harness = await openCloudHarness(
      amazonBedrock({ region: keys.region, baseUrl: cloud.origin, credentials }),
    );
  });
  afterEach(() => cloud.vendor.unscript());
}
