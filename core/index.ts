/** Everything a plugin may import. The rest of core is internal. */
export { definePlugin, PluginError, pluginInterface } from './plugin.ts';
export type {
  ClientAddress,
  Credential,
  Guard,
  Host,
  Keyring,
  Plugin,
  PluginFactory,
  Readiness,
  Route,
  RouteReply,
  RouteRequest,
} from './plugin.ts';
export type * from './host/workers.ts';
export type { Command, CommandOption, CommandResult } from './host/commands.ts';
export type { Archive, ArchivedCall } from './host/archive.ts';
export { groupRoutes, type SharedRoutes } from './http/routes.ts';
export { examineVendor } from './host/diagnostics.ts';
export type { Examination, Finding, Probe } from './host/diagnostics.ts';
export { fileMode, makeFolder, restrictAccess } from './process/data-folder.ts';
export { countText, readEnvironment, portText, secondsText } from './host/environment.ts';
export {
  addressSchema,
  defineProvider,
  buildDrainLimits,
  keySchema,
  onAbortSchema,
  patienceSchema,
  secretSchema,
} from './provider.ts';
export type { Endpoint, Provider, ProviderSpec, UpstreamRequest, UpstreamResponse } from './provider.ts';
export type { ConditionalTapPlace, Hooks, TapPlace } from './hooks.ts';
export { checkModel, findPriceOrigin, readCatalogue, toRegional } from './model-facts.ts';
export type { Capabilities, Model, ModelFacts } from './model-facts.ts';
export type { Catalog, Offer, PriceSource } from './catalog.ts';
export type * from './host/configuration.ts';
export type * from './host/description.ts';
export type * from './host/documents.ts';
export type { GivenOptions, OptionChange, ShownOption } from './host/shown-options.ts';
export { applyOwnModels, ownModelsSchema } from './host/own-models.ts';
export type { OwnModel, OwnModels } from './host/own-models.ts';
export { createFlagReader } from './host/wire-flags.ts';
export type * from './exchange.ts';
export type * from './preview.ts';
export type { RouteStep, Trace } from './util/trace.ts';
export type { AlikeEvent } from './crossing/alike-run.ts';
export type * from './protocol.ts';
export { computeChargeSoFar } from './billing/charge.ts';
export { errorTable, GatewayError, isGatewayError, getMessage, toGatewayError } from './errors.ts';
export type { ErrorCode, ErrorDetails, VendorWords } from './errors.ts';
export { formatUsd, parseUsd, toUsdNumber } from './money.ts';
export type { Nano } from './money.ts';
export { computeCostLines, computeCost, getModeRates, getRateUnits } from './billing/cost.ts';
export type { CostLine } from './billing/cost.ts';
export { freePrice, priceSchema, scaleTerms, usd } from './billing/price.ts';
export type { Price, PriceRule, Terms } from './billing/price.ts';
export { discounts, getTerms } from './billing/terms.ts';
export { computeAffordableOutput, computeWorstCost } from './billing/worst-cost.ts';
export type { UseBound } from './billing/worst-cost.ts';
export { blockKinds, eventSchema, finishReasons } from './canonical/events.ts';
export type * from './canonical/events.ts';
export { requestSchema } from './canonical/request.ts';
export type * from './canonical/request.ts';
export { toCount, usageSchema } from './canonical/usage.ts';
export type { Usage } from './canonical/usage.ts';
export {
  boundInput,
  boundOutput,
  boundUse,
  countPictureTokens,
  estimateInput,
} from './billing/cost-bounds.ts';
export { longestDeadline } from './util/deadlines.ts';
export { detach } from './util/detached.ts';
export {
  longestTagName,
  longestTagValue,
  mostTags,
  readTagsHeader,
  splitTag,
  tagsHeader,
} from './http/tags-header.ts';
export type { Labels, Tag } from './http/tags-header.ts';
export { Form } from './http/form.ts';
export type { FormFile } from './http/form.ts';
export { lossCodes } from './loss.ts';
export type { Loss, LossCode } from './loss.ts';
export { getAskedMode, usualMode } from './billing/service-modes.ts';
export type { Mode } from './billing/service-modes.ts';
export type { Fee, FeeName } from './billing/fees.ts';
export { resolvePointer } from './util/json-pointer.ts';
export { Running } from './util/running.ts';
export { splice } from './crossing/splice.ts';
export type { Edit } from './crossing/splice.ts';
export { defineConfig } from './config.ts';
export type { ConfigInput } from './config.ts';
export { mayCall } from './http/access.ts';
export { formatTable, toOneLine } from './util/table.ts';
