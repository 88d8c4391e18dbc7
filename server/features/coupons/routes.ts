import { createdAtFilters, listSchema } from '../../http/lists.ts';
import { booleanParameter, choiceParameter, textParameter } from '../../http/query-parameters.ts';
import { defineList, defineRoute, type Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import {
  codeBatch,
  coupon,
  couponArchive,
  couponCode,
  couponCreate,
  couponUpdate,
  couponValidate,
  couponVerdict,
  couponWithCodes,
  mintedCodes,
} from './schemas.ts';
import {
  archiveCoupon,
  changeCoupon,
  createCoupon,
  getCodes,
  getCoupon,
  getCoupons,
  lockedCoupon,
  mintCodes,
} from './service.ts';
import { validateCoupon } from './validate.ts';

const common = { tag: 'Coupons', resource: 'coupon' } as const;
const reads = { permission: 'coupons:read', category: 'read', idempotency: 'none' } as const;
const writes = { permission: 'coupons:write', category: 'write', idempotency: 'optional' } as const;
const fields = { name: 'coupons', schema: coupon };
const one = { status: 200, schema: coupon, shape: 'resource' } as const;

export function couponRoutes(): Route[] {
  return [
    defineRoute({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/coupons',
      operationId: 'createCoupon',
      summary: 'Create a coupon',
      description:
        'Send either `percentage` or `amount`. A `promo` coupon has one code: its name in upper case. A ' +
        '`generated` coupon has random codes, which you create with `codes` or later.',
      idempotency: 'required',
      body: couponCreate,
      rowsFor: ({ codes }) => codes?.count ?? 0,
      bodyExample: { name: 'Tea week', percentage: 12.5, duration: 'once', codes: { count: 10, prefix: 'TEA-' } },
      success: { status: 201, schema: couponWithCodes, shape: 'resource' },
      errors: ['resource_already_exists', 'resource_not_found', { code: 'invalid_request', status: 422 }],
      handle: ({ context, body }) => createCoupon(context, body),
    }),
    defineList({
      ...common,
      path: '/v1/coupons',
      operationId: 'listCoupons',
      summary: 'List coupons',
      permission: 'coupons:read',
      fields,
      sorts: ['updated_at', 'name'],
      filters: {
        q: textParameter(limits.searchLength, 'Only coupons with this text in name or description, or with this code.'),
        active: booleanParameter('`true` for active coupons, `false` for inactive ones.'),
        kind: choiceParameter(['generated', 'promo'], 'Only coupons of this kind.'),
        archived: choiceParameter(['true', 'false', 'all'], '`false` hides archived coupons.', 'false'),
        ...createdAtFilters,
      },
      success: { status: 200, schema: listSchema('CouponList', coupon, '/v1/coupons'), shape: 'list' },
      errors: [],
      handle: ({ context, query, page }) => getCoupons(context, query, page),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/v1/coupons/validate',
      audit: 'none',
      operationId: 'validateCoupon',
      summary: 'Preview a coupon code',
      description:
        'Calculates the discount of a code without redeeming it. If the code cannot be used, the response is 200 with `valid: false` and ' +
        'a `reason`. In a form, wait about 300 ms after the last keystroke before you send this request.',
      permission: 'coupons:read',
      category: 'coupon_validation',
      idempotency: 'none',
      body: couponValidate,
      bodyExample: { code: 'TEA25', amount: 4900, currency: 'usd' },
      success: { status: 200, schema: couponVerdict, shape: 'other' },
      errors: ['too_many_requests'],
      handle: ({ context, body }) => validateCoupon(context, body),
    }),
    defineRoute({
      ...common,
      ...reads,
      method: 'GET',
      path: '/v1/coupons/:id',
      operationId: 'getCoupon',
      summary: 'Retrieve a coupon',
      fields,
      version: couponUpdate,
      success: one,
      errors: [],
      handle: ({ context, params }) => getCoupon(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'PATCH',
      path: '/v1/coupons/:id',
      operationId: 'updateCoupon',
      summary: 'Update a coupon',
      description:
        'After the first redemption, the discount and its scope are locked: changing them returns 422 `field_locked`. ' +
        '`starts_at` is locked once it has passed.',
      body: couponUpdate,
      bodyExample: { active: false },
      success: one,
      errors: ['field_locked', 'resource_already_exists'],
      current: ({ context, params }) => lockedCoupon(context, params.id ?? ''),
      handle: ({ context, params, body }) => changeCoupon(context, params.id ?? '', body),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'DELETE',
      path: '/v1/coupons/:id',
      operationId: 'deleteCoupon',
      summary: 'Archive a coupon',
      description: 'Archives the coupon. No data is lost.',
      success: one,
      errors: [],
      handle: ({ context, params }) => archiveCoupon(context, params.id ?? '', true),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/coupons/:id/archive',
      operationId: 'archiveCoupon',
      summary: 'Archive or unarchive a coupon',
      description: 'An archived coupon is inactive. After you unarchive it, it stays inactive until you activate it.',
      body: couponArchive,
      bodyExample: { archived: true },
      success: one,
      errors: [],
      handle: ({ context, params, body }) => archiveCoupon(context, params.id ?? '', body.archived),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/coupons/:id/codes',
      operationId: 'mintCouponCodes',
      summary: 'Create random codes',
      description: `Only for a \`generated\` coupon, which can have ${limits.couponCodes.toLocaleString('en')} codes. Codes are not case-sensitive.`,
      body: codeBatch,
      rowsFor: ({ count }) => count,
      bodyExample: { count: 100, prefix: 'TEA-', length: 8 },
      success: { status: 201, schema: mintedCodes, shape: 'other' },
      errors: [{ code: 'invalid_request', status: 422 }],
      handle: ({ context, params, body }) => mintCodes(context, params.id ?? '', body),
    }),
    defineList({
      ...common,
      path: '/v1/coupons/:id/codes',
      operationId: 'listCouponCodes',
      summary: 'List the codes of a coupon',
      permission: 'coupons:read',
      sorts: [],
      filters: {},
      success: {
        status: 200,
        schema: listSchema('CouponCodeList', couponCode, '/v1/coupons/{id}/codes'),
        shape: 'list',
      },
      errors: [],
      handle: ({ context, params, page }) => getCodes(context, params.id ?? '', page),
    }),
  ];
}
