// What part of the graph is seen: arithmetic of zoom and pan (test/camera.test.ts).

export interface Camera {
  x: number;
  y: number;
  zoom: number;
}

export const LEAST = 0.08;
export const MOST = 2;
const EDGE = 28;

/** Show everything, at most in its own size. A graph of readable size is not shrunk below `readable`: one pans instead. */
export function fit(width: number, height: number, viewWidth: number, viewHeight: number, readable = 0): Camera {
  const zoom = Math.min(1.15, (viewWidth - 2 * EDGE) / Math.max(1, width), (viewHeight - 2 * EDGE) / Math.max(1, height));
  const used = Math.max(LEAST, zoom, Math.min(readable, 1));
  const x = width * used + 2 * EDGE <= viewWidth ? (viewWidth - width * used) / 2 : EDGE;
  const y = height * used + 2 * EDGE <= viewHeight ? (viewHeight - height * used) / 2 : EDGE;
  return { zoom: used, x, y };
}

/** Zoom by a factor around a point of the view. */
export function zoomAt(camera: Camera, factor: number, x: number, y: number): Camera {
  const zoom = Math.min(MOST, Math.max(LEAST, camera.zoom * factor));
  const ratio = zoom / camera.zoom;
  return { zoom, x: x - (x - camera.x) * ratio, y: y - (y - camera.y) * ratio };
}

export function toGraph(camera: Camera, x: number, y: number): [number, number] {
  return [(x - camera.x) / camera.zoom, (y - camera.y) / camera.zoom];
}

/** Move the view as little as needed to show a rectangle of the graph. */
export function reveal(camera: Camera, box: { x: number; y: number; w: number; h: number }, viewWidth: number, viewHeight: number): Camera {
  const left = box.x * camera.zoom + camera.x;
  const top = box.y * camera.zoom + camera.y;
  const moved = { ...camera };
  if (left < EDGE) moved.x += EDGE - left;
  else if (left + box.w * camera.zoom > viewWidth - EDGE) moved.x -= left + box.w * camera.zoom - viewWidth + EDGE;
  if (top < EDGE) moved.y += EDGE - top;
  else if (top + box.h * camera.zoom > viewHeight - EDGE) moved.y -= top + box.h * camera.zoom - viewHeight + EDGE;
  return moved;
}
