"""TensorFlow Serving's own clients ask Headrace's server. interop_serving.py PROGRAM: the program is interop.c's; the
command is that of HEADRACE. Answers are what TensorFlow computes."""
import glob
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import grpc  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow_serving.apis import (  # noqa: E402
    classification_pb2, get_model_metadata_pb2, get_model_status_pb2, inference_pb2, input_pb2, model_management_pb2,
    model_service_pb2_grpc, predict_pb2, prediction_service_pb2_grpc, regression_pb2)

PROGRAM = os.path.abspath(sys.argv.pop(1))
COMMAND = os.environ["HEADRACE"]


def headrace(*arguments):
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout.splitlines()


class Serving(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        path = cls.folder.name
        headrace("write_rows", path + "/rows")
        headrace("train", "combined", path + "/rows", path + "/model", "20")
        (cls.served,) = headrace("export_estimator", "combined", path + "/model", path + "/served", "parsing")
        cls.records = [r.numpy() for f in sorted(glob.glob(path + "/rows/*.tfrecord")) for r in tf.data.TFRecordDataset(f)][:20]
        cls.signatures = tf.saved_model.load(cls.served).signatures
        cls.server = subprocess.Popen(
            [COMMAND, "serve", "--model_name=towns", "--model_base_path=" + path + "/served", "--port=0", "--rest_api_port=0",
             "--port_file=" + path + "/ports", "--quiet"])
        while not os.path.exists(path + "/ports"):
            if cls.server.poll() is not None:
                raise AssertionError("the server has ended")
            time.sleep(0.02)
        with open(path + "/ports") as file:
            cls.ports = json.load(file)
        cls.channel = grpc.insecure_channel(f"127.0.0.1:{cls.ports['grpc']}")
        cls.predictions = prediction_service_pb2_grpc.PredictionServiceStub(cls.channel)
        cls.models = model_service_pb2_grpc.ModelServiceStub(cls.channel)
        url = f"http://127.0.0.1:{cls.ports['rest']}/readyz"
        for _ in range(500):
            try:
                urllib.request.urlopen(url)
                break
            except urllib.error.URLError:
                time.sleep(0.02)

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        cls.server.terminate()
        code = cls.server.wait(30)
        cls.folder.cleanup()
        if code != 0:
            raise AssertionError(f"the server ended with {code}")

    def theirs(self, signature):
        key = "examples" if signature == "predict" else "inputs"
        return {k: v.numpy() for k, v in self.signatures[signature](**{key: tf.constant(self.records)}).items()}

    def spec(self, message, signature):
        message.model_spec.name = "towns"
        message.model_spec.signature_name = signature
        return message

    def examples(self):
        return input_pb2.Input(example_list=input_pb2.ExampleList(examples=[tf.train.Example.FromString(r) for r in self.records]))

    def check_classes(self, result, expected):
        self.assertEqual(len(result.classifications), len(self.records))
        for row, classes, scores in zip(result.classifications, expected["classes"], expected["scores"]):
            self.assertEqual([c.label.encode() for c in row.classes], list(classes))
            np.testing.assert_allclose([c.score for c in row.classes], scores, 1e-5)

    def check_values(self, result, expected):
        np.testing.assert_allclose([r.value for r in result.regressions], expected["outputs"].reshape(-1), 1e-5)

    def test_predict(self):
        request = self.spec(predict_pb2.PredictRequest(), "predict")
        request.inputs["examples"].CopyFrom(tf.make_tensor_proto(self.records))
        answer, expected = self.predictions.Predict(request, 10), self.theirs("predict")
        self.assertEqual(set(answer.outputs), set(expected))
        for key, value in expected.items():
            got = tf.make_ndarray(answer.outputs[key])
            np.testing.assert_allclose(got, value, 1e-5) if value.dtype.kind == "f" else np.testing.assert_array_equal(got, value)
        self.assertEqual(answer.model_spec.version.value, int(os.path.basename(self.served)))

    def test_predict_some_outputs(self):
        request = self.spec(predict_pb2.PredictRequest(output_filter=["logits"]), "predict")
        request.inputs["examples"].CopyFrom(tf.make_tensor_proto(self.records))
        self.assertEqual(list(self.predictions.Predict(request, 10).outputs), ["logits"])

    def test_classify(self):
        request = self.spec(classification_pb2.ClassificationRequest(input=self.examples()), "classification")
        self.check_classes(self.predictions.Classify(request, 10).result, self.theirs("classification"))

    def test_regress(self):
        request = self.spec(regression_pb2.RegressionRequest(input=self.examples()), "regression")
        self.check_values(self.predictions.Regress(request, 10).result, self.theirs("regression"))

    def test_multi_inference(self):
        request = inference_pb2.MultiInferenceRequest(input=self.examples())
        for signature, method in ("classification", "classify"), ("regression", "regress"):
            self.spec(request.tasks.add(method_name="tensorflow/serving/" + method), signature)
        first, second = self.predictions.MultiInference(request, 10).results
        self.check_classes(first.classification_result, self.theirs("classification"))
        self.check_values(second.regression_result, self.theirs("regression"))

    def test_metadata(self):
        request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
        request.model_spec.name = "towns"
        signatures = get_model_metadata_pb2.SignatureDefMap()
        self.predictions.GetModelMetadata(request, 10).metadata["signature_def"].Unpack(signatures)
        self.assertEqual({k for k in signatures.signature_def if not k.startswith("__")}, set(self.signatures))

    def test_status_and_reload(self):
        status = get_model_status_pb2.GetModelStatusRequest()
        status.model_spec.name = "towns"
        (version,) = self.models.GetModelStatus(status, 10).model_version_status
        self.assertEqual(version.state, get_model_status_pb2.ModelVersionStatus.AVAILABLE)
        reload = model_management_pb2.ReloadConfigRequest()
        reload.config.model_config_list.config.add(
            name="towns", base_path=os.path.dirname(self.served), model_platform="tensorflow")
        self.assertEqual(self.models.HandleReloadConfigRequest(reload, 10).status.error_code, 0)
        status.model_spec.name = "nobody"
        with self.assertRaises(grpc.RpcError) as raised:
            self.models.GetModelStatus(status, 10)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.NOT_FOUND)

    def test_a_wrong_request_names_what_is_wrong(self):
        request = self.spec(predict_pb2.PredictRequest(), "nothing")
        with self.assertRaises(grpc.RpcError) as raised:
            self.predictions.Predict(request, 10)
        self.assertIn("nothing", raised.exception.details())

    def test_rest_says_the_same(self):
        def value(feature):
            kind = feature.WhichOneof("kind")
            values = list(getattr(feature, kind).value)
            return [v.decode() for v in values] if kind == "bytes_list" else values

        rows = [{k: value(f) for k, f in tf.train.Example.FromString(r).features.feature.items()} for r in self.records]
        body = json.dumps({"signature_name": "regression", "examples": rows}).encode()
        url = f"http://127.0.0.1:{self.ports['rest']}/v1/models/towns:regress"
        with urllib.request.urlopen(url, body) as answer:
            results = json.load(answer)["results"]
        np.testing.assert_allclose(results, self.theirs("regression")["outputs"].reshape(-1), 1e-5)


if __name__ == "__main__":
    unittest.main()
