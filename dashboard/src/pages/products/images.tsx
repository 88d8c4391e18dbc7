import { useQueryClient } from '@tanstack/react-query';
import { type DragEvent, useRef, useState } from 'react';
import { ApiError, call, upload } from '../../api.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { ErrorNote, useAction } from '../../components/form.tsx';
import { Icon } from '../../components/icons.tsx';
import { Panel } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { common } from '../../texts/common.ts';
import { products } from '../../texts/products.ts';
import type { Product, ProductImage } from '../../types.ts';

interface Uploading {
  readonly name: string;
  readonly share: number;
}

/** Adds images by drop, reorders them by drag or with buttons, and deletes them. */
export function Images({ product, reason }: { product: Product; reason: string | undefined }) {
  const client = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const [uploading, setUploading] = useState<Uploading>();
  const [problem, setProblem] = useState<ApiError>();
  const [dragged, setDragged] = useState<string>();
  const [removing, setRemoving] = useState<ProductImage>();
  const path = `/v1/products/${product.id}/images`;
  const images = [...(product.images ?? [])].toSorted((left, right) => left.order - right.order);

  async function add(files: readonly File[]): Promise<void> {
    setProblem(undefined);
    try {
      for (const file of files) {
        setUploading({ name: file.name, share: 0 });
        await upload<ProductImage>(path, file, (share) => setUploading({ name: file.name, share }));
        toast(products.uploaded);
      }
    } catch (error) {
      if (error instanceof ApiError) setProblem(error);
    } finally {
      setUploading(undefined);
      void client.invalidateQueries();
    }
  }
  const reorder = useAction<readonly string[], unknown>({
    send: (ids, key) => call('PATCH', `${path}/reorder`, { body: { image_ids: ids }, key }),
  });
  function move(id: string, to: number): void {
    const ids = images.map((image) => image.id).filter((other) => other !== id);
    ids.splice(to, 0, id);
    void reorder.run(ids);
  }
  function onDrop(event: DragEvent): void {
    event.preventDefault();
    setOver(false);
    setDragged(undefined);
    const files = dragged ? [] : [...event.dataTransfer.files];
    if (files.length > 0 && reason === undefined) void add(files);
  }
  const error = problem ?? reorder.error;
  return (
    <Panel title={products.images}>
      {/* The whole panel accepts files. Otherwise the browser would open a file that is dropped beside the target. */}
      <div
        onDragOver={(event) => {
          event.preventDefault();
          setOver(dragged === undefined);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={onDrop}
      >
        <p className="mb-3 text-muted">{products.imagesHint}</p>
        {images.length > 0 && (
          <ol className="mb-4 flex flex-wrap gap-3">
            {images.map((image, index) => (
              <li
                key={image.id}
                draggable={reason === undefined}
                onDragStart={() => setDragged(image.id)}
                onDragEnd={() => setDragged(undefined)}
                onDrop={(event) => {
                  if (!dragged || dragged === image.id) return;
                  event.preventDefault();
                  event.stopPropagation();
                  move(dragged, index);
                  setDragged(undefined);
                }}
                className="panel w-32 overflow-hidden"
              >
                <img
                  draggable={false}
                  src={image.url}
                  alt={products.imageAlt(product.name, index + 1)}
                  className="aspect-square w-full object-cover"
                />
                {reason === undefined && (
                  <div className="flex justify-between">
                    <IconButton
                      label={products.moveLeft(index + 1)}
                      icon="left"
                      disabled={index === 0}
                      onClick={() => move(image.id, index - 1)}
                    />
                    <IconButton
                      label={products.removeImage(index + 1)}
                      icon="close"
                      onClick={() => setRemoving(image)}
                    />
                    <IconButton
                      label={products.moveRight(index + 1)}
                      icon="right"
                      disabled={index === images.length - 1}
                      onClick={() => move(image.id, index + 1)}
                    />
                  </div>
                )}
              </li>
            ))}
          </ol>
        )}
        <div
          className={`flex flex-col items-center gap-2 rounded-[8px] border-2 border-dashed p-6 text-muted ${over ? 'border-accent-ink bg-accent-soft' : 'border-line'}`}
        >
          <Icon name="upload" size={24} />
          {uploading ? (
            <div role="status" className="flex w-full max-w-60 flex-col gap-1 text-center">
              <span className="truncate">{products.uploading(uploading.name)}</span>
              <progress
                aria-label={products.uploading(uploading.name)}
                className="w-full accent-accent"
                value={uploading.share}
                max={1}
              />
            </div>
          ) : (
            <>
              <span>{products.drop}</span>
              <Button small reason={reason} onClick={() => input.current?.click()}>
                {products.choose}
              </Button>
            </>
          )}
          <input
            ref={input}
            type="file"
            accept="image/jpeg,image/png,image/gif"
            multiple
            hidden
            aria-label={products.choose}
            onChange={(event) => {
              void add([...(event.target.files ?? [])]);
              event.target.value = '';
            }}
          />
        </div>
        {error && (
          <div className="mt-3">
            <ErrorNote error={error} />
          </div>
        )}
      </div>
      {removing && (
        <Confirm
          title={products.deleteImage}
          confirm={common.delete}
          danger
          send={(key) => call('DELETE', `${path}/${removing.id}`, { key })}
          onClose={() => setRemoving(undefined)}
        >
          <img src={removing.url} alt="" className="max-h-48 rounded-[8px]" />
        </Confirm>
      )}
    </Panel>
  );
}
