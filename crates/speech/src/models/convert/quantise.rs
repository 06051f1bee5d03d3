//! Keeps byte weights as bytes.
//!
//! The file stores a weight as `Cast(int8 -> float) * scale + offset`, which a runtime would compute again and again or
//! store four times as large. Where such a weight feeds a `MatMul`, the product is taken between bytes instead:
//!
//! ```text
//! x -> DynamicQuantizeLinear -> (xq, xs, xz)
//! MatMulInteger(xq, w, xz, wz) -> Cast(float) -> * (xs * scale) -> y          with wz = -offset / scale
//! ```
//!
//! The weights stay exact; the activations are rounded to 8 bits.

use std::borrow::Cow;
use std::collections::HashMap;

use super::graph::{Attribute, AttributeValue, FLOAT, Graph, INT8, Node, Tensor};

/// A byte weight and how to read it: `value = scale * (byte - zero_point)`.
#[derive(Clone)]
struct Weight<'a> {
    name: Cow<'a, str>,
    scale: f32,
    zero_point: i8,
}

type Weights<'a> = HashMap<String, Weight<'a>>;

/// Rewrites every `MatMul` by a byte weight in `graph` and its subgraphs.
pub(super) fn quantise(graph: &mut Graph<'_>) {
    rewrite(graph, &Weights::new());
}

fn rewrite<'a>(graph: &mut Graph<'a>, outer: &Weights<'a>) {
    let mut weights = outer.clone();
    weights.extend(find_weights(graph));
    let nodes = std::mem::take(&mut graph.nodes);
    for mut node in nodes {
        node.subgraphs_mut().for_each(|subgraph| rewrite(subgraph, &weights));
        let weight = node.inputs.get(1).and_then(|name| weights.get(name.as_ref()));
        match weight {
            Some(weight) if node.op_type == "MatMul" && node.outputs.len() == 1 => expand(graph, &node, weight),
            _ => graph.nodes.push(node),
        }
    }
}

/// Finds `Cast -> Mul -> Add` chains over byte tensors, by the name of their result.
fn find_weights<'a>(graph: &Graph<'a>) -> Weights<'a> {
    let tensors: HashMap<&str, &Tensor<'a>> = graph.initializers.iter().map(|t| (t.name.as_ref(), t)).collect();
    let users: HashMap<&str, &Node<'a>> =
        graph.nodes.iter().flat_map(|node| node.inputs.iter().map(move |name| (name.as_ref(), node))).collect();
    let user = |node: &Node<'a>, op: &str| {
        users.get(node.outputs.first()?.as_ref()).copied().filter(|user| user.op_type == op && user.domain.is_empty())
    };
    let scalar = |node: &Node<'a>| {
        let tensor = tensors.get(node.inputs.get(1)?.as_ref())?;
        let bytes = (tensor.data_type == FLOAT).then(|| tensor.raw.as_ref().try_into().ok())??;
        Some(f32::from_le_bytes(bytes))
    };
    let chain = |cast: &Node<'a>| {
        let bytes = tensors.get(cast.inputs.first()?.as_ref())?;
        if cast.op_type != "Cast" || bytes.data_type != INT8 || bytes.dims.len() != 2 {
            return None;
        }
        let mul = user(cast, "Mul")?;
        let add = user(mul, "Add")?;
        let (scale, offset) = (scalar(mul)?, scalar(add)?);
        let zero_point = -offset / scale;
        let whole = zero_point.round();
        let exact = (zero_point - whole).abs() < 1e-2 && whole.abs() <= 127.0;
        #[expect(clippy::cast_possible_truncation, reason = "it was just seen to be a whole number of at most 127")]
        let weight = Weight { name: bytes.name.clone(), scale, zero_point: whole as i8 };
        exact.then_some((add.outputs.first()?.to_string(), weight))
    };
    graph.nodes.iter().filter_map(chain).collect()
}

/// Replaces `matmul` by the integer product.
fn expand<'a>(graph: &mut Graph<'a>, matmul: &Node<'a>, weight: &Weight<'a>) {
    let input = matmul.inputs[0].clone();
    let output = matmul.outputs[0].clone();
    let name = |part: &str| Cow::Owned(format!("{output}_{part}"));
    let node =
        |op_type, part: &str, inputs, outputs| Node { name: name(part), op_type, inputs, outputs, ..Node::default() };
    let quantised = vec![name("xq"), name("xs"), name("xz")];
    let product_inputs = vec![name("xq"), weight.name.clone(), name("xz"), name("wz")];
    let to_float = Attribute { name: "to", value: AttributeValue::Int(i64::from(FLOAT)) };
    graph.nodes.extend([
        node("DynamicQuantizeLinear", "quantise", vec![input], quantised),
        node("MatMulInteger", "product", product_inputs, vec![name("i")]),
        Node { attributes: vec![to_float], ..node("Cast", "float", vec![name("i")], vec![name("f")]) },
        node("Mul", "scales", vec![name("xs"), name("ws")], vec![name("k")]),
        node("Mul", "scale", vec![name("f"), name("k")], vec![output.clone()]),
    ]);
    let scalar = |part, data_type, raw| Tensor { name: name(part), data_type, dims: Vec::new(), raw: Cow::Owned(raw) };
    graph.initializers.extend([
        scalar("wz", INT8, weight.zero_point.to_le_bytes().to_vec()),
        scalar("ws", FLOAT, weight.scale.to_le_bytes().to_vec()),
    ]);
}
