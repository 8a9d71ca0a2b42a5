/** Everything a plugin may import. The rest of core is internal. */

export { computeChargeSoFar } from './billing/charge.ts';
export {
  boundBilled,
  boundInput,
  boundOutput,
  boundUse,
  countPictureTokens,
  estimateInput,
} from './billing/cost-bounds.ts';
export { computeCost, computeCostLines, findTier, getAskedMode, getModeRates } from './billing/cost.ts';
export { boundCost, computeAffordableOutput, computeWorstCost } from './billing/cost-bounds.ts';
export type { UseBound } from './billing/cost-bounds.ts';
export * from './canonical/events.ts';
export * from './canonical/request.ts';
export {
  facts,
  findCount,
  findKind,
  kinds,
  listUses,
  modalities,
  nameKind,
  unitNames,
} from './canonical/units.ts';
export type { Billed, FeeName, Kind, Modality, Unit, Use, Used } from './canonical/units.ts';
export { nameCounts, toCount, toUsed, usageSchema } from './canonical/usage.ts';
export type { Usage } from './canonical/usage.ts';
export type { Catalog, PriceSource } from './catalog.ts';
export { defineConfig } from './config.ts';
export type { ConfigInput, Middleware } from './config.ts';
export { restoreRequest } from './crossing/restore.ts';
export { sliceItems, sliceMember, splice } from './crossing/splice.ts';
export { definePlugin } from './define-plugin.ts';
export * from './exchange.ts';
export type { ConditionalTapPlace, Erasure, Hooks, TapPlace } from './hooks.ts';
export { mayCall } from './http/access.ts';
export { BodyBudget } from './http/bodies.ts';
export { parseJson } from './http/json-body.ts';
export { groupRoutes } from './http/routes.ts';
export type { SharedRoutes } from './http/routes.ts';
export {
  costHeader,
  longestTagName,
  longestTagValue,
  mostTags,
  readTagsHeader,
  splitTag,
  tagsHeader,
} from './http/request-headers.ts';
export { lossCodes } from './loss.ts';
export type { Loss, LossCode } from './loss.ts';
export {
  changesSchema,
  checkModel,
  createFlagReader,
  findWorldwidePrice,
  isModality,
  joinIssues,
  toRegional,
} from './model-facts.ts';
export type { Capabilities, Model, ModelFacts } from './model-facts.ts';
export type * from './notices.ts';
export type * from './operations.ts';
export * from './plugin.ts';
export {
  discounts,
  findRate,
  getRate,
  getTerms,
  getRates,
  mapRates,
  parseRate,
  places,
  restorePrice,
  storePrice,
  usualMode,
} from './price-terms.ts';
export type { CostLine, Fee, Mode, Price, PriceRule, Rate, Table, Terms, Tier } from './price-terms.ts';
export { freePrice, priceSchema, statedPrice, usd } from './price.ts';
export type { StatedPrice } from './price.ts';
export * from './protocol.ts';
export type * from './provider.ts';
export * from './util/decimal.ts';
export { countText, portText, readEnvironment, secondsText } from './util/environment.ts';
export {
  GatewayError,
  errorCodes,
  errorTable,
  getMessage,
  isGatewayError,
  toGatewayError,
} from './util/errors.ts';
export type { ErrorCode, ErrorDetails, VendorWords } from './util/errors.ts';
export { hasPlainNumbers, parseExactly, resolvePointer } from './util/json-text.ts';
export { formatUsd, parseUsd, toUsdNumber } from './util/money.ts';
export type { Nano } from './util/money.ts';
export { describeFaults } from './util/option-errors.ts';
export { readOwnVersion } from './util/own-version.ts';
export { PluginError } from './util/plugin-error.ts';
export { fileMode, makeFolder, restrictAccess } from './util/private-files.ts';
export { Running } from './util/running.ts';
export { allowReference, isReference, openSecret } from './util/secret-references.ts';
export type { Secret, SecretValues } from './util/secret-references.ts';
export { detach, hideSecrets, listSecrets, toOneLine } from './util/text.ts';
export { longestDeadline, secondsOption, withTimeout } from './util/timeouts.ts';
export { takeTurn } from './util/turns.ts';
