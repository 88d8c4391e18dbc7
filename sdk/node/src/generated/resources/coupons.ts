// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Call, RequestOptions } from '../../request.ts';
import type { Chosen, FieldChoice } from '../../shown.ts';
import { listPages, type PagePromise } from '../../paging.ts';
import { operations } from '../operations.ts';
import type { CodeBatch, Coupon, CouponArchive, CouponCode, CouponCreate, CouponUpdate, CouponValidate, CouponVerdict, CouponWithCodes, ListCouponCodesParams, ListCouponsParams, MintedCodes } from '../types/coupons.ts';

export class CouponsCodes {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Make random codes. */
  mint(couponId: string, body: CodeBatch, options?: RequestOptions): Promise<MintedCodes> {
    return this.#call(operations.mintCouponCodes, [couponId], { body }, options);
  }

  /** List the codes of a coupon. */
  list(couponId: string, params: ListCouponCodesParams = {}, options?: RequestOptions): PagePromise<CouponCode> {
    return listPages(this.#call, operations.listCouponCodes, [couponId], params, options);
  }
}

export class Coupons {
  readonly #call: Call;
  readonly codes: CouponsCodes;

  constructor(call: Call) {
    this.#call = call;
    this.codes = new CouponsCodes(call);
  }

  /** Create a coupon. */
  create(body: CouponCreate, options?: RequestOptions): Promise<CouponWithCodes> {
    return this.#call(operations.createCoupon, [], { body }, options);
  }

  /** List coupons. */
  list<const Field extends keyof Coupon = keyof Coupon>(params: ListCouponsParams & FieldChoice<Field> = {}, options?: RequestOptions): PagePromise<Chosen<Coupon, Field>> {
    return listPages(this.#call, operations.listCoupons, [], params, options);
  }

  /** Preview a coupon code. */
  validate(body: CouponValidate, options?: RequestOptions): Promise<CouponVerdict> {
    return this.#call(operations.validateCoupon, [], { body }, options);
  }

  /** Retrieve a coupon. */
  get<const Field extends keyof Coupon = keyof Coupon>(couponId: string, params: FieldChoice<Field> = {}, options?: RequestOptions): Promise<Chosen<Coupon, Field>> {
    return this.#call(operations.getCoupon, [couponId], { query: params }, options);
  }

  /** Change a coupon. */
  update(couponId: string, body: CouponUpdate, options?: RequestOptions): Promise<Coupon> {
    return this.#call(operations.updateCoupon, [couponId], { body }, options);
  }

  /** Archive a coupon. */
  delete(couponId: string, options?: RequestOptions): Promise<Coupon> {
    return this.#call(operations.deleteCoupon, [couponId], {}, options);
  }

  /** Archive a coupon, or take that back. */
  archive(couponId: string, body: CouponArchive, options?: RequestOptions): Promise<Coupon> {
    return this.#call(operations.archiveCoupon, [couponId], { body }, options);
  }
}
