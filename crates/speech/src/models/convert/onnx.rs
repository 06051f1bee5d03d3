//! Writes a graph as an ONNX file: the few protobuf messages of `onnx.proto3` that models here need.

use super::graph::{Attribute, AttributeValue, Dimension, Graph, Model, Node, Tensor, ValueInfo};

/// The oldest ONNX format version that is read everywhere and supports everything written here.
const MIN_IR_VERSION: i64 = 8;

/// A protobuf message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    /// Writes a field's number and wire type.
    fn tag(&mut self, field: u32, wire: u64) {
        self.varint(u64::from(field) << 3 | wire);
    }

    fn int(&mut self, field: u32, value: i64) {
        self.tag(field, 0);
        self.varint(value.cast_unsigned());
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn float(&mut self, field: u32, value: f32) {
        self.tag(field, 5);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn message(&mut self, field: u32, message: &Self) {
        self.bytes(field, &message.0);
    }
}

/// Returns the bytes of `model`'s ONNX file.
pub(super) fn write(model: &Model<'_>) -> Vec<u8> {
    let mut out = Message::default();
    out.int(1, model.ir_version.max(MIN_IR_VERSION));
    for (domain, version) in model.opsets.iter().filter(|(domain, _)| domain.is_empty()) {
        let mut set = Message::default();
        set.text(1, domain);
        set.int(2, *version);
        out.message(8, &set);
    }
    out.message(7, &graph(&model.graph));
    out.0
}

fn graph(graph: &Graph<'_>) -> Message {
    let mut out = Message::default();
    graph.nodes.iter().for_each(|value| out.message(1, &node(value)));
    out.text(2, "graph");
    graph.initializers.iter().for_each(|value| out.message(5, &tensor(value)));
    graph.inputs.iter().for_each(|value| out.message(11, &value_info(value)));
    graph.outputs.iter().for_each(|value| out.message(12, &value_info(value)));
    out
}

fn node(node: &Node<'_>) -> Message {
    let mut out = Message::default();
    node.inputs.iter().for_each(|name| out.text(1, name));
    node.outputs.iter().for_each(|name| out.text(2, name));
    out.text(3, &node.name);
    out.text(4, node.op_type);
    node.attributes.iter().for_each(|value| out.message(5, &attribute(value)));
    if !node.domain.is_empty() {
        out.text(7, node.domain);
    }
    out
}

fn attribute(attribute: &Attribute<'_>) -> Message {
    let mut out = Message::default();
    out.text(1, attribute.name);
    let kind = match &attribute.value {
        AttributeValue::Float(value) => {
            out.float(2, *value);
            1
        }
        AttributeValue::Int(value) => {
            out.int(3, *value);
            2
        }
        AttributeValue::Text(value) => {
            out.text(4, value);
            3
        }
        AttributeValue::Tensor(value) => {
            out.message(5, &tensor(value));
            4
        }
        AttributeValue::Graph(value) => {
            out.message(6, &graph(value));
            5
        }
        AttributeValue::Floats(values) => {
            values.iter().for_each(|value| out.float(7, *value));
            6
        }
        AttributeValue::Ints(values) => {
            values.iter().for_each(|value| out.int(8, *value));
            7
        }
        AttributeValue::Texts(values) => {
            values.iter().for_each(|value| out.text(9, value));
            8
        }
    };
    out.int(20, kind);
    out
}

fn tensor(tensor: &Tensor<'_>) -> Message {
    let mut out = Message::default();
    tensor.dims.iter().for_each(|dim| out.int(1, *dim));
    out.int(2, i64::from(tensor.data_type));
    out.text(8, &tensor.name);
    out.bytes(9, &tensor.raw);
    out
}

fn value_info(info: &ValueInfo<'_>) -> Message {
    let mut out = Message::default();
    out.text(1, info.name);
    let Some((element, dims)) = &info.tensor else { return out };
    let mut tensor = Message::default();
    tensor.int(1, i64::from(*element));
    if let Some(dims) = dims {
        let mut shape = Message::default();
        for dim in dims {
            let mut value = Message::default();
            match dim {
                Dimension::Unknown => {}
                Dimension::Fixed(size) => value.int(1, *size),
                Dimension::Named(name) => value.text(2, name),
            }
            shape.message(1, &value);
        }
        tensor.message(2, &shape);
    }
    let mut kind = Message::default();
    kind.message(1, &tensor);
    out.message(2, &kind);
    out
}
